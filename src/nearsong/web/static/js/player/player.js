// The current song and the queue, for all views; bar.js and now_playing.js draw it.
//
//   player.play(songs, {start = 0, shuffle, more, from})   replaces the queue and plays
//       shuffle  true: in random order, from anywhere unless `start` is given; false: in this order; else as before
//       more     () -> Promise of further songs, at the end of a long list
//       from     {label, href} or a label: what the songs are, shown in the queue
//   player.playNow(song)            plays at once; the queue continues after it
//   player.playNext(songs)          one or several after the current song (starts if nothing plays)
//   player.add(songs)               one or several at the end (starts if nothing plays)
//   player.snapshot() -> {songs, index, position, plain, byHand, shuffle, repeat, from, more, playing}
//   player.restore(snapshot)        as it was then, paused; its song plays on if `position` is null
//   player.follow(more)             from now on `more` fills the end of the queue; null: nothing does
//   player.branch({more, from})     the current song plays on; `more` replaces what came after it
//   player.setNext(songs)           replaces what comes after the current song
//   player.toggle(), .pause(), .next(), .previous(), .seek(seconds), .jump(index)
//   player.remove(index), .move(from, to), .clearNext()
//   player.current (song or null), .queue, .index, .from, .more, .playing, .position, .duration, .buffered
//   player.shuffle, .repeat ("off", "all", "one"), .volume (0..1), .muted, .stopAfter (stops after this song),
//   .leaving (the song was left, and the next one is being chosen)
//   player.dim: 0..1, how much of the volume a sleep timer leaves
//   events on player: "change" (song, queue, playing, volume), "time" (position, duration, buffered),
//   "listened" (detail {song, seconds}: half of a song or four minutes of it were played),
//   "skipped" (detail {song, seconds, waitFor}: left by next() before half of it and 30 seconds were played; the next
//   song starts after a promise that waitFor is given, at most a moment later),
//   "replaced" (detail: snapshot of the queue that play() or branch() has replaced),
//   "stopped" (it stopped after the song, as stopAfter had it)
//   isCurrent(song) -> whether it is the current song.
//
// A song is as in the API (id, title, artist, ...). An uploaded file has `src`, a blob: address, to play from.

import { isUp, whenUp } from "../core/api.js";
import { BriefWait } from "../core/brief_wait.js";
import { preferences } from "../core/preferences.js";
import { Failures } from "../songs/failures.js";
import { Engine } from "./engine.js";
import { Order, REPEATS } from "./order.js";

const RESTART_SECONDS = 3; // "previous" goes to the start of the song after so much of it

const listOf = (songs) => (Array.isArray(songs) ? songs : [songs]);

class Player extends EventTarget {
  from = null; // {label, href} of what is played
  #engine = new Engine();
  #order = new Order();
  #leaving = new BriefWait(); // for the choice of the next song
  #failures = new Failures();
  #more = null; // loads the rest of a long list
  #filling = null; // {more, done}: it is being loaded
  #stopAfter = false;
  #byHand = new Set(); // songs that the listener queued or moved

  constructor() {
    super();
    const engine = this.#engine;
    const takePreferences = () => {
      engine.crossfade = preferences.get("crossfade");
      engine.gain = preferences.get("gain");
    };
    engine.volume = preferences.get("volume");
    takePreferences();
    preferences.addEventListener("change", takePreferences);
    engine.addEventListener("state", () => {
      if (engine.playing && engine.deck.position > 0) this.#failures.end();
      this.#tell();
    });
    engine.addEventListener("time", () => this.dispatchEvent(new Event("time")));
    engine.addEventListener("listened", ({ detail }) => this.#send("listened", detail));
    engine.addEventListener("followed", () => this.#followed());
    engine.addEventListener("ended", () => this.#ended());
    engine.addEventListener("failed", () => this.#failed());
  }

  get queue() {
    return this.#order.songs;
  }
  get index() {
    return this.#order.index;
  }
  get plain() {
    return this.#order.plain;
  }
  get current() {
    return this.#order.current;
  }
  get more() {
    return this.#more;
  }
  get playing() {
    return this.#engine.playing || this.leaving;
  }
  get leaving() {
    return this.#leaving.on;
  }
  get position() {
    return this.#engine.deck.position;
  }
  get duration() {
    return this.#engine.deck.duration;
  }
  get buffered() {
    return this.#engine.deck.buffered;
  }
  get volume() {
    return this.#engine.volume;
  }
  set volume(level) {
    this.#engine.volume = level;
    preferences.set("volume", this.#engine.volume);
    this.#tell();
  }
  get muted() {
    return this.#engine.muted;
  }
  set muted(on) {
    this.#engine.muted = on;
    this.#tell();
  }
  get dim() {
    return this.#engine.dim;
  }
  set dim(level) {
    this.#engine.dim = level;
  }
  get shuffle() {
    return this.#order.shuffle;
  }
  set shuffle(on) {
    this.#order.setShuffle(Boolean(on));
    this.#tell();
  }
  get repeat() {
    return this.#order.repeat;
  }
  set repeat(how) {
    this.#order.repeat = REPEATS.includes(how) ? how : "off";
    this.#tell();
  }
  get stopAfter() {
    return this.#stopAfter;
  }
  set stopAfter(on) {
    this.#stopAfter = on;
    this.#tell();
  }

  /** Whether "next" has somewhere to go. */
  get hasNext() {
    return this.#order.after() >= 0;
  }

  play(songs, { start, shuffle, more = null, from = null } = {}) {
    if (!songs.length) return;
    this.#replace();
    if (shuffle !== undefined) this.#order.shuffle = shuffle;
    this.#order.set(songs, start ?? 0, { pinned: start !== undefined || !shuffle });
    this.#failures.end();
    this.#more = more;
    this.from = typeof from === "string" ? { label: from } : from;
    this.#load(this.index);
  }

  playNow(song) {
    this.#order.insert([song], this.index + 1);
    this.#failures.end();
    this.#load(this.index + 1);
  }

  branch({ more, from }) {
    this.#replace();
    this.#order.replaceNext([]);
    this.from = from;
    this.follow(more);
  }

  snapshot() {
    const { index, position, shuffle, repeat, from, more } = this;
    const songs = [...this.queue];
    const plain = [...this.plain];
    const byHand = songs.slice(index + 1).filter((song) => this.#byHand.has(song));
    const playing = this.#engine.wanted;
    return { songs, plain, index, position, byHand, shuffle, repeat, from, more, playing };
  }

  restore({ songs, index, position = 0, plain = null, byHand = [], shuffle, repeat, from = null, more = null }) {
    this.#leaving.cancel();
    this.#order.shuffle = Boolean(shuffle);
    this.#order.repeat = REPEATS.includes(repeat) ? repeat : "off";
    this.#order.restore(songs, index, plain);
    this.#byHand = new Set(byHand);
    this.#more = more;
    this.from = from;
    if (position !== null) this.#engine.show(this.current, position);
    this.#tell();
  }

  follow(more) {
    this.#more = more;
    this.#tell();
    this.#fill();
  }

  setNext(songs) {
    this.#order.replaceNext(songs);
    this.#tell();
  }

  playNext(songs) {
    const isFirst = !this.current;
    for (const song of listOf(songs)) this.#byHand.add(song);
    this.#order.insert(listOf(songs), this.index + 1);
    if (isFirst) this.#load(0);
    else this.#tell();
  }

  add(songs) {
    const isFirst = !this.current;
    for (const song of listOf(songs)) this.#byHand.add(song);
    this.#order.append(listOf(songs));
    if (isFirst && this.queue.length) this.#load(0);
    else this.#tell();
  }

  toggle() {
    if (!this.current) return;
    if (this.leaving) return this.pause();
    if (!this.#engine.wanted) this.#failures.end();
    if (this.#engine.deck.audio.paused) this.#engine.start();
    else this.pause();
  }

  pause() {
    this.#leaving.end();
    this.#engine.pause();
  }

  next() {
    if (this.#leaving.end() || !this.hasNext) return;
    const song = this.current;
    const seconds = this.#engine.deck.meter.earlySeconds;
    const choices = [];
    const waitFor = (choice) => choices.push(choice);
    if (seconds !== null) this.#send("skipped", { song, seconds, waitFor });
    const goOn = () => (this.hasNext ? this.#load(this.#order.after()) : this.#engine.start());
    if (!choices.length) return goOn();
    this.#engine.pause(); // the song is silent at once
    this.#leaving.begin(choices, goOn);
    this.#tell();
  }

  previous() {
    if (this.position > RESTART_SECONDS || this.index <= 0) this.seek(0);
    else this.#load(this.index - 1);
  }

  jump(index) {
    if (this.queue[index]) this.#load(index);
  }

  seek(seconds) {
    if (this.current) this.#engine.seek(seconds);
  }

  remove(index) {
    if (index === this.index || !this.queue[index]) return;
    this.#order.remove(index);
    this.#tell();
  }

  move(from, to) {
    if (!this.queue[from] || !this.queue[to] || from === to) return;
    this.#byHand.add(this.queue[from]);
    this.#order.move(from, to);
    this.#tell();
  }

  clearNext() {
    this.#order.replaceNext([]);
    this.#more = null;
    this.from = null;
    this.#tell();
  }

  #replace() {
    if (this.current) this.#send("replaced", this.snapshot());
    this.#byHand = new Set();
  }

  #load(index) {
    this.#leaving.cancel();
    this.#failures.begin();
    this.#order.index = index;
    this.#engine.play(this.current);
    this.#tell();
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
      this.#order.append(songs);
      this.#tell();
    };
    filling.done = more()
      .catch(() => []) // tried again with the next song
      .then(add);
    this.#filling = filling;
    return filling.done;
  }

  /** What starts by itself when the song ends: its index, or -1. At the end of a list that goes on nothing does yet. */
  get #upcoming() {
    if (this.#stopAfter) return -1;
    if (this.#more && this.repeat !== "one" && this.index + 1 >= this.queue.length) return -1;
    return this.#order.after({ byItself: true });
  }

  #followed() {
    this.#order.index = this.#upcoming;
    this.#tell();
    this.#fill();
  }

  async #ended() {
    const song = this.current;
    if (this.#stopAfter) return this.#stop();
    if (this.index + 1 >= this.queue.length) await this.#fill();
    if (song !== this.current) return;
    const to = this.#order.after({ byItself: true });
    if (to >= 0) this.#load(to);
    else this.pause();
  }

  /** The song was the last one for now: the next is ready, paused. */
  #stop() {
    this.#stopAfter = false;
    this.#order.index = Math.max(this.index, this.#order.after());
    this.#engine.show(this.current);
    this.#tell();
    this.dispatchEvent(new Event("stopped"));
  }

  async #failed() {
    const song = this.current;
    const at = this.position;
    const { deck } = this.#engine;
    if (!song || !deck.audio.error || !this.#engine.wanted) return;
    if (!song.src && !(await isUp())) return this.#waitFor(song, at);
    if (song !== this.current || !this.#engine.wanted) return; // the user did something else meanwhile
    if (this.#failures.isFirst(song)) return this.#resume(at);
    if (this.#failures.tell(song, { more: this.index + 1 < this.queue.length })) this.#load(this.index + 1);
    else this.pause();
    this.#tell();
  }

  /** The service does not respond: resume at the same position when it is back. */
  #waitFor(song, at) {
    if (song !== this.current) return;
    this.pause();
    this.#tell();
    whenUp(() => {
      if (song === this.current && !this.#engine.wanted) this.#resume(at);
    });
  }

  #resume(at) {
    this.#engine.start();
    this.#engine.seek(at);
  }

  #send(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  #tell() {
    this.#engine.follow(this.queue[this.#upcoming] || null);
    this.dispatchEvent(new Event("change"));
  }
}

export const player = new Player();

export function isCurrent(song) {
  const now = player.current;
  if (!now) return false;
  return song.src || now.src ? now.src === song.src : now.id === song.id;
}
