// Two <audio> elements: while one plays, the other holds the next song, so that it starts as the first one ends.
//
//   engine.play(song)                plays a song from its start
//   engine.show(song, position)      shows a song, paused there
//   engine.follow(song)              the song that is to start by itself when this one ends; null: none
//   engine.start(), .pause(), .seek(seconds)
//   engine.deck: the one that plays; .playing, .wanted (whether it should play, possibly still loading)
//   engine.volume, .muted, .dim (0..1: what a sleep timer takes away), .crossfade (seconds), .gain (mode of gainOf)
//   events: "state", "time", "followed" (the song of follow() has started), "ended" (nothing followed), "failed",
//   "listened" (detail {song, seconds})
//
// How short the pause between two songs is, and what else was tried: docs/decisions/0031-gapless.md

import { Deck, gainOf } from "./deck.js";

const AHEAD_SECONDS = 30; // the next song is loaded when so much is left
const AIM_SECONDS = 1.5; // from here on its start is timed
const FADE_STEP_MILLISECONDS = 40;
const LEAD_SECONDS = 0.005; // from play() to the first sound
const MAX_LATE_SECONDS = 0.1; // of the clock of a song against that of the page

export class Engine extends EventTarget {
  wanted = false;
  #decks;
  #next = null; // the song that follows
  #timer = 0; // of its start
  #fading = 0; // timer of a crossfade
  #alone = false; // whether the browser lets only one element play by itself
  #volume = 1;
  #muted = false;
  #dim = 1;
  #gain = "off";
  crossfade = 0;

  constructor() {
    super();
    const onListen = (song, seconds) =>
      this.dispatchEvent(new CustomEvent("listened", { detail: { song, seconds } }));
    this.#decks = [new Deck({ onListen }), new Deck({ onListen })];
    for (const deck of this.#decks) this.#watch(deck);
  }

  get deck() {
    return this.#decks[0];
  }
  get playing() {
    return this.wanted && !this.deck.audio.paused;
  }

  #watch(deck) {
    const on = (names, run) => {
      for (const name of names) deck.audio.addEventListener(name, () => deck === this.deck && run());
    };
    on(["play", "pause", "waiting", "playing"], () => this.#tell("state"));
    on(["timeupdate", "durationchange", "progress", "seeked"], () => {
      this.#aim();
      this.#tell("time");
    });
    on(["ended"], () => this.#ended());
    on(["error"], () => this.#tell("failed"));
  }

  #tell(name) {
    this.dispatchEvent(new Event(name));
  }

  play(song) {
    this.#reset();
    this.deck.load(song);
    this.deck.gain = gainOf(song, this.#gain);
    this.#level();
    this.start();
  }

  show(song, position = 0) {
    this.#reset();
    this.wanted = false;
    const { deck } = this;
    deck.load(song, { eager: false }); // it may never be played
    deck.gain = gainOf(song, this.#gain);
    this.#level();
    if (position) deck.seek(position);
    this.#tell("state");
  }

  start() {
    this.wanted = true;
    this.deck.start().catch((error) => {
      if (error.name === "NotAllowedError") this.pause(); // autoplay is blocked
    });
    this.#tell("state");
  }

  pause() {
    this.wanted = false;
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (this.#fading) this.#endFade();
    this.deck.audio.pause();
  }

  seek(seconds) {
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (this.#fading) this.#endFade();
    if (this.deck.song) this.deck.seek(Math.min(Math.max(0, seconds), this.deck.duration || 0));
    this.#tell("time");
  }

  follow(song) {
    if (song === this.#next) return;
    this.#next = song;
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (!this.#fading && !this.#rings) this.#decks[1].stop();
    this.#aim();
  }

  /** Whether the other deck still plays the last moment of its song. */
  get #rings() {
    const { song, audio } = this.#decks[1];
    return Boolean(song) && !audio.paused && !audio.ended;
  }

  /** The other deck forgets its song, and a crossfade ends at once. */
  #reset() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#next = null;
    if (this.#fading) this.#endFade();
    this.#decks[1].stop();
  }

  /** Load the next song in time, and time its start. */
  #aim() {
    const { left, aboutLeft, duration } = this.deck;
    const [, other] = this.#decks;
    if (!this.#next || !this.wanted || this.#alone) return;
    if (this.#fading || this.#rings) return;
    const fade = Math.min(this.crossfade, duration / 3, (this.#next.seconds || Infinity) / 3);
    if (aboutLeft > AHEAD_SECONDS + fade) return;
    if (other.song !== this.#next || other.audio.ended) {
      other.load(this.#next);
      other.gain = gainOf(this.#next, this.#gain);
    }
    if (this.#timer || left > AIM_SECONDS + fade) return;
    const wait = left - (fade || LEAD_SECONDS);
    this.#timer = setTimeout(() => this.#handOver(fade), Math.max(0, wait * 1000));
  }

  #handOver(fade) {
    const [old, fresh] = this.#decks;
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (!this.wanted || fresh.song !== this.#next || !fresh.isReady) return; // goes on when the song has ended
    if (old.left > (fade || LEAD_SECONDS) + MAX_LATE_SECONDS) return this.#aim(); // it has waited for data
    fresh.fade = fade ? 0 : 1;
    this.#decks = [fresh, old];
    this.#level();
    fresh.start().catch((error) => this.#refused(error, old, fresh));
    this.#next = null;
    if (fade) this.#cross(old, fresh, fade);
    this.#tell("followed");
    this.#tell("time");
  }

  /** A browser that starts no second element without a finger on it: all songs use one from now on. */
  #refused(error, old, fresh) {
    if (error.name !== "NotAllowedError" || this.deck !== fresh || !this.wanted) return;
    const { song } = fresh;
    this.#alone = true;
    this.#decks = [old, fresh];
    this.#reset();
    old.load(song);
    this.#level();
    this.start();
  }

  /** The old song fades as the new one comes, at constant power. */
  #cross(old, fresh, seconds) {
    const began = performance.now();
    const step = () => {
      const part = Math.min(1, (performance.now() - began) / (1000 * seconds));
      fresh.fade = Math.sin((part * Math.PI) / 2);
      old.fade = Math.cos((part * Math.PI) / 2);
      this.#level();
      if (part >= 1) this.#endFade();
    };
    this.#fading = setInterval(step, FADE_STEP_MILLISECONDS);
    step();
  }

  #endFade() {
    clearInterval(this.#fading);
    this.#fading = 0;
    this.#decks[1].stop();
    this.deck.fade = 1;
    this.#level();
    this.#aim();
  }

  #ended() {
    const next = this.#next;
    if (!next) return this.#tell("ended");
    const [old, fresh] = this.#decks;
    if (fresh.isReady && fresh.song === next && !this.#alone) return this.#handOver(0);
    this.#reset();
    old.load(next);
    old.gain = gainOf(next, this.#gain);
    this.#level();
    this.start();
    this.#tell("followed");
    this.#tell("time");
  }

  #level() {
    for (const deck of this.#decks) deck.setLevel(this.#volume * this.#dim, this.#muted);
  }

  get volume() {
    return this.#volume;
  }
  set volume(level) {
    this.#volume = Math.min(1, Math.max(0, level));
    this.#muted = false;
    this.#level();
  }
  get muted() {
    return this.#muted || this.#volume === 0;
  }
  set muted(on) {
    this.#muted = on;
    this.#level();
  }
  get dim() {
    return this.#dim;
  }
  set dim(level) {
    this.#dim = level;
    this.#level();
  }
  set gain(mode) {
    this.#gain = mode;
    for (const deck of this.#decks) deck.gain = gainOf(deck.song, mode);
    this.#level();
  }
}
