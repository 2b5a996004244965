// One <audio> element and the song in it.
//
//   deck.load(song, {eager})    eager: all of it is loaded, else only how long it is
//   deck.start() -> promise, deck.stop(): pauses and forgets the song
//   deck.seek(seconds): a song that is being converted is loaded again, complete, where it cannot be sought in
//   deck.setLevel(level, muted): 0..1
//   gainOf(song, mode) -> factor from 0 to 1 by its ReplayGain      mode: "off", "track" or "album"
//   deck.left: seconds until the end, Infinity where that is not known; .aboutLeft: as the library says
//   deck.position, .duration, .buffered, .meter

import { songUrl } from "../core/api.js";
import { ListenMeter } from "./listen_meter.js";

export class Deck {
  audio = new Audio();
  song = null;
  gain = 1;
  fade = 1; // of a crossfade
  #onListen;
  #goal = null; // the second to go to when the element knows where it can

  constructor({ onListen }) {
    this.#onListen = onListen;
    this.audio.preload = "auto";
    this.meter = new ListenMeter(this.audio, {
      length: () => this.duration,
      onListen: (song, seconds) => this.#onListen(song, seconds),
    });
    this.audio.addEventListener("loadedmetadata", () => this.#goal !== null && this.seek(this.#goal));
  }

  load(song, { eager = true } = {}) {
    this.song = song;
    this.#goal = null;
    this.fade = 1;
    this.meter.begin(song);
    this.audio.preload = eager ? "auto" : "metadata";
    this.audio.src = song.src || songUrl.audio(song.id);
  }

  start() {
    if (this.audio.error) this.audio.load(); // retry after an error
    return this.audio.play();
  }

  stop() {
    if (!this.song) return;
    this.song = null;
    this.#goal = null;
    this.meter.begin(null);
    this.audio.pause();
    this.audio.removeAttribute("src");
    this.audio.load(); // ends the request
  }

  /** What is sent while it is made has no length, so that browsers cannot go to what they do not have yet. */
  seek(seconds) {
    const { audio, song } = this;
    const isKnown = audio.readyState >= HTMLMediaElement.HAVE_METADATA;
    const complete = song.src || songUrl.audio(song.id, { complete: "true" });
    const isComplete = audio.src === new URL(complete, location.href).href;
    if (isKnown && (isComplete || this.#reaches(seconds))) {
      this.#goal = null;
      audio.currentTime = seconds;
      return;
    }
    this.#goal = seconds;
    if (!isKnown) return;
    const plays = !audio.paused;
    audio.src = complete;
    if (plays) audio.play().catch(() => {}); // an error is an event too
  }

  #reaches(seconds) {
    const { duration, seekable } = this.audio;
    if (!Number.isFinite(duration)) return false; // Chromium then says that it reaches everything
    return Array.from(seekable, (_, i) => i).some((i) => seekable.start(i) <= seconds && seconds <= seekable.end(i));
  }

  setLevel(level, muted) {
    this.audio.volume = Math.min(1, Math.max(0, level * this.gain * this.fade));
    this.audio.muted = muted;
  }

  get position() {
    return this.#goal ?? (this.audio.currentTime || 0);
  }

  get duration() {
    return Number.isFinite(this.audio.duration) ? this.audio.duration : this.song?.seconds || 0;
  }

  get left() {
    return Number.isFinite(this.audio.duration) ? this.audio.duration - this.audio.currentTime : Infinity;
  }

  get aboutLeft() {
    return this.duration ? this.duration - this.position : Infinity;
  }

  get isReady() {
    return Boolean(this.song) && !this.audio.error && this.audio.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA;
  }

  /** Up to which second the audio is buffered from the current position. */
  get buffered() {
    const { buffered } = this.audio;
    for (let i = 0; i < buffered.length; i += 1) {
      if (buffered.start(i) <= this.position + 0.5 && buffered.end(i) >= this.position) return buffered.end(i);
    }
    return 0;
  }
}

const HEADROOM_DECIBELS = 6; // all songs are lowered by so much, so that quiet ones can be raised up to it

/** The tags hold decibels and the highest sample. An <audio> element cannot be louder than its file: a song is raised
 *  by lowering all others, also those without tags. Samples above full scale are brought back to it. */
export function gainOf(song, mode) {
  if (mode === "off" || !song) return 1;
  const kinds = mode === "album" ? ["album", "track"] : ["track", "album"];
  const kind = kinds.find((one) => isNumber(song[`${one}_gain`]));
  const decibels = (kind ? song[`${kind}_gain`] : 0) - HEADROOM_DECIBELS;
  const peak = kind && song[`${kind}_peak`];
  const most = isNumber(peak) && peak > 1 ? 1 / peak : 1;
  return Math.min(10 ** (decibels / 20), most);
}

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
