// How much of a song was played, without what was skipped.
//
//   const meter = new ListenMeter(audio, {length, onListen})   length() -> seconds of the song
//   meter.begin(song)                                     the audio element has a new song
//   onListen(song, seconds): half of the song or four minutes were played, starting so many seconds ago
//   meter.earlySeconds: how long the song was played, if leaving it now is a skip; else null

const MAX_REQUIRED_SECONDS = 240; // where half of the song is longer
const MAX_SKIP_SECONDS = 30; // where half of the song is longer
const MAX_SKEW_SECONDS = 1; // tolerance between the two clocks
const RESTART_SECONDS = 0.5; // seeking back before this second starts a new listen

export class ListenMeter {
  #audio;
  #length;
  #onListen;
  #song = null;
  #playedSeconds = 0;
  #reported = false;
  #from = null; // last known position in seconds; null while seeking
  #when = 0; // when that was, in milliseconds
  #began = 0; // when the listen started

  constructor(audio, { length, onListen }) {
    this.#audio = audio;
    this.#length = length;
    this.#onListen = onListen;
    for (const name of ["timeupdate", "pause", "ended"]) audio.addEventListener(name, () => this.#look());
    audio.addEventListener("seeking", () => {
      this.#from = null;
    });
    audio.addEventListener("seeked", () => this.#land());
    audio.addEventListener("playing", () => this.#mark());
  }

  begin(song) {
    this.#song = song;
    this.#playedSeconds = 0;
    this.#reported = false;
    this.#from = null;
  }

  /** A song that has not sounded yet is not skipped, nor one of which half or 30 seconds were played. */
  get earlySeconds() {
    const length = this.#length();
    const limit = length > 0 ? Math.min(length / 2, MAX_SKIP_SECONDS) : MAX_SKIP_SECONDS;
    return this.#song && this.#playedSeconds > 0 && this.#playedSeconds < limit ? this.#playedSeconds : null;
  }

  #mark() {
    this.#from = this.#audio.currentTime;
    this.#when = performance.now();
  }

  #land() {
    this.#mark();
    if (this.#reported && this.#from < RESTART_SECONDS) this.begin(this.#song);
  }

  #look() {
    if (!this.#song || this.#audio.seeking) return;
    const step = this.#audio.currentTime - (this.#from ?? Infinity);
    const most = ((performance.now() - this.#when) / 1000) * this.#audio.playbackRate + MAX_SKEW_SECONDS;
    if (step > 0 && step <= most) {
      if (!this.#playedSeconds) this.#began = this.#when;
      this.#playedSeconds += step;
    }
    this.#mark();
    const length = this.#length();
    const required = length > 0 ? Math.min(length / 2, MAX_REQUIRED_SECONDS) : MAX_REQUIRED_SECONDS;
    if (this.#reported || this.#playedSeconds < required) return;
    this.#reported = true;
    this.#onListen(this.#song, (this.#when - this.#began) / 1000);
  }
}
