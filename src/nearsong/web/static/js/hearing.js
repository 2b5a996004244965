// How much of a song was really heard: the stretches that were played, not what was jumped over.
//
//   const hearing = new Hearing(audio, {length, onHeard})   length() -> seconds of the song
//   hearing.begin(song)                                     another song is in the audio element from now on
//   onHeard(song, seconds): half of it or four minutes were heard, which began so long ago; once each time

const ENOUGH = 240; // seconds, where half of a song is more
const SLACK = 1; // seconds that the two clocks may differ between two looks
const START = 0.5; // who goes back to before this second listens anew

export class Hearing {
  #audio;
  #length;
  #onHeard;
  #song = null;
  #heard = 0;
  #told = false;
  #from = null; // up to where it was played when last looked at; null while it jumps
  #when = 0; // milliseconds, when that was
  #began = 0; // and when the first of it was heard

  constructor(audio, { length, onHeard }) {
    [this.#audio, this.#length, this.#onHeard] = [audio, length, onHeard];
    for (const name of ["timeupdate", "pause", "ended"]) audio.addEventListener(name, () => this.#look());
    audio.addEventListener("seeking", () => { this.#from = null; });
    audio.addEventListener("seeked", () => this.#land());
    audio.addEventListener("playing", () => this.#mark());
  }

  begin(song) {
    [this.#song, this.#heard, this.#told, this.#from] = [song, 0, false, null];
  }

  #mark() {
    [this.#from, this.#when] = [this.#audio.currentTime, performance.now()];
  }

  #land() {
    this.#mark();
    if (this.#told && this.#from < START) this.begin(this.#song);
  }

  #look() {
    if (!this.#song || this.#audio.seeking) return;
    const step = this.#audio.currentTime - (this.#from ?? Infinity);
    const most = ((performance.now() - this.#when) / 1000) * this.#audio.playbackRate + SLACK;
    if (step > 0 && step <= most) {
      if (!this.#heard) this.#began = this.#when;
      this.#heard += step;
    }
    this.#mark();
    const length = this.#length();
    if (this.#told || this.#heard < (length > 0 ? Math.min(length / 2, ENOUGH) : ENOUGH)) return;
    this.#told = true;
    this.#onHeard(this.#song, (this.#when - this.#began) / 1000);
  }
}
