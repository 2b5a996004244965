// The current song and the queue. One <audio> element for all views; bar.js draws it.
//
//   player.play(songs, index = 0, {more})   replaces the queue and plays; more() -> Promise of further songs
//   player.playNow(song)            plays at once; the queue continues after it
//   player.restore(songs, index, position)   restores the queue after a reload, paused
//   player.follow(more)             from now on `more` fills the end of the queue; null: nothing does
//   player.setNext(songs)           replaces what comes after the current song
//   player.playNext(song)           after the current song (starts if nothing plays)
//   player.add(songs)               at the end (starts if nothing plays)
//   player.toggle(), .pause(), .next(), .previous(), .seek(seconds), .jump(index), .remove(index), .clearNext()
//   player.current (song or null), .more, .playing, .queue, .index, .position, .duration, .buffered, .volume (0..1),
//   .muted
//   events on player: "change" (song, queue, playing, volume), "time" (position, duration, buffered),
//   "listened" (detail {song, seconds}: half of a song or four minutes of it were played),
//   "skipped" (detail {song, seconds}: left by next() before half of it and 30 seconds were played)
//   isCurrent(song) -> whether it is the current song.
//
// A song is as in the API (id, title, artist, ...). An uploaded file has `src`, a blob: address, to play from.

import { get, link, songUrl } from "../core/api.js";
import { apart, titleOf } from "../core/format.js";
import { ListenMeter } from "./listen_meter.js";
import { say } from "../core/toasts.js";

const MEMORY = "nearsong.volume";
const MAX_FAILURES = 5; // in a row before playback stops

class Player extends EventTarget {
  queue = [];
  index = -1;
  #audio = new Audio();
  #meter = new ListenMeter(this.#audio, {
    length: () => this.duration,
    onListen: (song, seconds) => this.dispatchEvent(new CustomEvent("listened", { detail: { song, seconds } })),
  });
  #failures = 0;
  #hush = () => {}; // closes the last error message
  #wanted = false; // whether it should play, possibly still loading
  #more = null; // loads the rest of a long list
  #filling = null; // {more, done}: it is being loaded

  constructor() {
    super();
    const audio = this.#audio;
    audio.preload = "auto";
    audio.volume = storedVolume();
    for (const name of ["play", "pause", "volumechange", "waiting", "playing"])
      audio.addEventListener(name, () => this.#tell());
    for (const name of ["timeupdate", "durationchange", "progress", "seeked"]) {
      audio.addEventListener(name, () => this.dispatchEvent(new Event("time")));
    }
    audio.addEventListener("playing", () => {
      this.#failures = 0;
    });
    audio.addEventListener("ended", () => this.#ended());
    audio.addEventListener("error", () => this.#failed());
    audio.addEventListener("volumechange", () => store(MEMORY, String(audio.volume)));
    this.#mediaKeys();
  }

  get current() {
    return this.queue[this.index] || null;
  }
  get more() {
    return this.#more;
  }
  get playing() {
    return this.#wanted && !this.#audio.paused;
  }
  get position() {
    return this.#audio.currentTime || 0;
  }
  get duration() {
    return Number.isFinite(this.#audio.duration) ? this.#audio.duration : this.current?.seconds || 0;
  }
  get volume() {
    return this.#audio.volume;
  }
  set volume(level) {
    this.#audio.volume = Math.min(1, Math.max(0, level));
    this.#audio.muted = false;
  }
  get muted() {
    return this.#audio.muted || this.#audio.volume === 0;
  }
  set muted(on) {
    this.#audio.muted = on;
  }

  /** Up to which second the audio is buffered from the current position. */
  get buffered() {
    const { buffered } = this.#audio;
    for (let i = 0; i < buffered.length; i += 1) {
      if (buffered.start(i) <= this.position + 0.5 && buffered.end(i) >= this.position) return buffered.end(i);
    }
    return 0;
  }

  play(songs, index = 0, { more = null } = {}) {
    this.queue = [...songs];
    this.#failures = 0;
    this.#more = more;
    this.#load(index);
  }

  playNow(song) {
    this.queue.splice(this.index + 1, 0, song);
    this.#failures = 0;
    this.#load(this.index + 1);
  }

  restore(songs, index, position) {
    this.queue = [...songs];
    this.index = index;
    const audio = this.#audio;
    const song = this.current;
    this.#meter.begin(song);
    audio.preload = "metadata"; // playback may not be resumed
    audio.addEventListener(
      "loadedmetadata",
      () => {
        if (this.current === song) audio.currentTime = position;
      },
      { once: true },
    );
    audio.src = songUrl.audio(song.id);
    this.#describe(song);
    this.#tell();
  }

  follow(more) {
    this.#more = more;
    this.#tell();
    this.#fill();
  }

  setNext(songs) {
    this.queue.splice(this.index + 1, Infinity, ...songs);
    this.#tell();
  }

  playNext(song) {
    this.queue.splice(this.index + 1, 0, song);
    if (this.queue.length === 1) this.#load(0);
    else this.#tell();
  }

  add(songs) {
    const first = this.queue.length;
    this.queue.push(...songs);
    if (first === 0 && songs.length) this.#load(0);
    else this.#tell();
  }

  toggle() {
    if (!this.current) return;
    if (!this.#wanted) this.#failures = 0;
    if (this.#audio.paused) this.#start();
    else this.pause();
  }

  pause() {
    this.#wanted = false;
    this.#audio.pause();
  }

  next() {
    if (this.index + 1 >= this.queue.length) return;
    const song = this.current;
    const seconds = this.#meter.earlySeconds;
    this.#advance();
    if (seconds !== null) this.dispatchEvent(new CustomEvent("skipped", { detail: { song, seconds } }));
  }

  #advance() {
    if (this.index + 1 < this.queue.length) this.#load(this.index + 1);
  }

  previous() {
    if (this.position > 3 || this.index <= 0) this.seek(0);
    else this.#load(this.index - 1);
  }

  jump(index) {
    if (this.queue[index]) this.#load(index);
  }

  seek(seconds) {
    if (!this.current) return;
    this.#audio.currentTime = Math.min(Math.max(0, seconds), this.duration || 0);
    this.dispatchEvent(new Event("time"));
  }

  remove(index) {
    if (index === this.index || !this.queue[index]) return;
    this.queue.splice(index, 1);
    if (index < this.index) this.index -= 1;
    this.#tell();
  }

  clearNext() {
    this.queue.length = this.index + 1;
    this.#more = null;
    this.#tell();
  }

  #load(index) {
    this.index = index;
    const song = this.current;
    this.#meter.begin(song);
    this.#audio.preload = "auto";
    this.#audio.src = song.src || songUrl.audio(song.id);
    this.#describe(song);
    this.#start();
    this.dispatchEvent(new Event("time"));
    this.#fill();
  }

  /** Load more songs of a long list near the end of the queue; the promise of an earlier call if it is being done. */
  #fill() {
    const more = this.#more;
    if (!more || this.index + 2 < this.queue.length) return null;
    if (this.#filling?.more === more) return this.#filling.done;
    const filling = { more };
    const add = (songs) => {
      if (this.#filling === filling) this.#filling = null;
      if (this.#more !== more || !songs.length) return;
      this.queue.push(...songs);
      this.#tell();
    };
    filling.done = more().catch(() => []).then(add); // tried again with the next song
    this.#filling = filling;
    return filling.done;
  }

  #start() {
    this.#wanted = true;
    if (this.#audio.error) this.#audio.load(); // retry after an error
    this.#audio.play().catch((error) => {
      if (error.name === "NotAllowedError") this.pause(); // autoplay is blocked
    });
    this.#tell();
  }

  async #ended() {
    const song = this.current;
    if (this.index + 1 >= this.queue.length) await this.#fill();
    if (song !== this.current) return;
    if (this.index + 1 < this.queue.length) this.#advance();
    else this.pause();
  }

  async #failed() {
    const song = this.current;
    const at = this.position;
    if (!song || !this.#audio.error || !this.#wanted) return;
    if (!song.src && !(await answers())) return this.#waitFor(song, at);
    if (song !== this.current || !this.#wanted) return; // the user did something else meanwhile
    this.#failures += 1;
    const more = this.index + 1 < this.queue.length && this.#failures < MAX_FAILURES;
    const reason = song.src ? "the browser does not support its format." : "the file is missing or cannot be read.";
    const enough = `${MAX_FAILURES} songs in a row cannot be played. Check that the music files are available.`;
    this.#hush(); // one message at a time
    this.#hush = say(
      this.#failures >= MAX_FAILURES
        ? enough
        : `“${apart(titleOf(song))}” cannot be played: ${reason}${more ? " Skipping to the next song." : ""}`,
      { kind: "bad" },
    );
    if (more) this.#advance();
    else this.pause();
    this.#tell();
  }

  /** The service does not respond: resume at the same position when it is back. */
  #waitFor(song, at) {
    if (song !== this.current) return;
    this.pause();
    this.#tell();
    const goOn = () => {
      if (!link.up) return;
      link.removeEventListener("change", goOn);
      if (song !== this.current || this.#wanted) return;
      this.#start();
      this.#audio.currentTime = at;
    };
    link.addEventListener("change", goOn);
    goOn(); // if it is back already
  }

  #tell() {
    if ("mediaSession" in navigator) navigator.mediaSession.playbackState = this.playing ? "playing" : "paused";
    this.dispatchEvent(new Event("change"));
  }

  #describe(song) {
    if (!("mediaSession" in navigator)) return;
    const artwork = song.src ? [] : [{ src: songUrl.cover(song.id, 480), sizes: "480x480" }];
    navigator.mediaSession.metadata = new MediaMetadata({
      title: titleOf(song),
      artist: song.artist,
      album: song.album || "",
      artwork,
    });
  }

  #mediaKeys() {
    if (!("mediaSession" in navigator)) return;
    const keys = {
      play: () => this.toggle(),
      pause: () => this.pause(),
      nexttrack: () => this.next(),
      previoustrack: () => this.previous(),
      seekto: (event) => this.seek(event.seekTime),
      seekforward: () => this.seek(this.position + 10),
      seekbackward: () => this.seek(this.position - 10),
    };
    for (const [name, run] of Object.entries(keys)) {
      try {
        navigator.mediaSession.setActionHandler(name, run);
      } catch {
        /* an older browser without this key */
      }
    }
  }
}

/** Whether the service responds. */
const answers = () =>
  get("/health").then(
    () => true,
    () => link.up,
  );

function storedVolume() {
  try {
    const level = Number.parseFloat(localStorage.getItem(MEMORY));
    return level >= 0 && level <= 1 ? level : 1;
  } catch {
    return 1;
  }
}

function store(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    /* a browser that keeps nothing */
  }
}

export const player = new Player();

export function isCurrent(song) {
  const now = player.current;
  if (!now) return false;
  return song.src || now.src ? now.src === song.src : now.id === song.id;
}
