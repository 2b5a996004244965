// The sleep timer: the music fades out and pauses after some minutes, or with the end of the song.
//
//   sleep.set(minutes | "song" | null)      sleep.minutes: whole minutes left; "song"; null: it is off
//   rememberSleep(): goes on with the timer after a reload
//   events on sleep: "change"

import { say } from "../core/toasts.js";
import { store, stored } from "../core/storage.js";
import { player } from "./player.js";

const KEY = "nearsong.sleep";
const FADE_SECONDS = 10;
const STEP_MILLISECONDS = 200;

class Sleep extends EventTarget {
  #until = null; // milliseconds since 1970, or "song"
  #timer = 0;
  #shown = null;

  get minutes() {
    if (typeof this.#until !== "number") return this.#until;
    return Math.max(1, Math.ceil((this.#until - Date.now()) / 60_000));
  }

  set(wanted) {
    this.#begin(typeof wanted === "number" ? Date.now() + wanted * 60_000 : wanted);
  }

  restore() {
    const kept = stored(KEY);
    if (kept === "song" || kept > Date.now()) this.#begin(kept);
  }

  #begin(until) {
    this.#until = until;
    store(KEY, until);
    player.stopAfter = until === "song";
    player.dim = 1;
    clearInterval(this.#timer);
    this.#timer = until === null ? 0 : setInterval(() => this.#look(), STEP_MILLISECONDS);
    this.#tell();
  }

  /** Seconds until it is quiet; Infinity while the song that is waited for is paused or unknown. */
  get #left() {
    if (this.#until !== "song") return (this.#until - Date.now()) / 1000;
    return player.playing && player.duration ? player.duration - player.position : Infinity;
  }

  #look() {
    const left = this.#left;
    player.dim = Math.min(1, Math.max(0, left / FADE_SECONDS));
    if (this.#until !== "song" && left <= 0) this.#quiet();
    if (this.minutes !== this.#shown) this.#tell();
  }

  #quiet() {
    player.pause();
    this.set(null);
    say("Sleep timer: paused.");
  }

  /** The song that was waited for has ended. */
  finish() {
    if (this.#until === "song") this.#quiet();
  }

  #tell() {
    this.#shown = this.minutes;
    this.dispatchEvent(new Event("change"));
  }
}

export const sleep = new Sleep();

export function rememberSleep() {
  sleep.restore();
  player.addEventListener("stopped", () => sleep.finish());
}
