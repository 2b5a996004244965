// Radio: songs without end, each chosen by what was just played, liked or skipped. The service remembers nothing of it.
//
//   radio.start(seeds, {name}): plays the first seed, or goes on from it if it is playing, then what follows
//   radio.stop(): what is queued still plays, then nothing follows
//   radio.on: whether it fills the queue; radio.name: what it started from
//   rememberRadio(): goes on with the radio after a reload; to be called when the queue is restored

import { isAbort, post } from "../core/api.js";
import { brief, titleOf } from "../core/format.js";
import { store, stored } from "../core/storage.js";
import { say, sayError } from "../core/toasts.js";
import { hearts } from "../songs/hearts.js";
import { isCurrent, player } from "./player.js";

const KEY = "nearsong.radio";
const MAX_HEARD = 500;
const MAX_SEEDS = 20;
const N_AHEAD = 3; // songs that are fetched at a time
const MAX_SHUFFLE = 2 ** 31;

class Radio {
  name = "";
  #seeds = [];
  #shuffle = 0;
  #heard = []; // {song_id, reaction}, in order; the last is the current song
  #own = new Set(); // songs that the radio queued
  #turn = 0; // of the latest request
  #isKept = false; // whether there is something to forget
  #more = () => this.#next();

  get on() {
    return player.more === this.#more;
  }

  start(seeds, { name = titleOf(seeds[0]) } = {}) {
    this.#seeds = seeds.slice(0, MAX_SEEDS).map((song) => song.id);
    this.#shuffle = Math.floor(Math.random() * MAX_SHUFFLE);
    this.#heard = [];
    this.#own = new Set();
    this.name = name;
    if (isCurrent(seeds[0])) {
      player.setNext([]);
      player.follow(this.#more);
      this.#note();
      if (!player.playing) player.toggle();
    } else player.play([seeds[0]], 0, { more: this.#more });
    say(`Radio: “${brief(name)}”. It follows what you play, heart and skip.`);
  }

  stop() {
    if (this.on) player.follow(null);
  }

  restore() {
    const kept = stored(KEY);
    if (!Array.isArray(kept?.seeds) || !kept.seeds.length || !Array.isArray(kept.heard)) return;
    if (!player.current || player.current.id !== kept.heard.at(-1)?.song_id) return;
    this.#seeds = kept.seeds;
    this.#heard = kept.heard;
    this.#shuffle = Number(kept.shuffle) || 0;
    this.#own = new Set(kept.own);
    this.#isKept = true;
    this.name = String(kept.name);
    player.follow(this.#more);
  }

  /** The current song is part of the radio from now on. */
  watch() {
    const song = player.current;
    if (!this.on && this.#isKept) store(KEY, null);
    this.#isKept &&= this.on;
    if (!this.on || !song || song.src || this.#heard.at(-1)?.song_id === song.id) return;
    this.#note();
  }

  #note() {
    this.#heard = [...this.#heard, { song_id: player.current.id, reaction: "played" }].slice(-MAX_HEARD);
    this.#keep();
  }

  /** What the listener did with a song; what comes next is chosen again. */
  async react(song, reaction) {
    const heard = this.on && this.#heard.findLast((one) => one.song_id === song.id);
    if (!heard || heard.reaction === reaction) return;
    heard.reaction = reaction;
    this.#keep();
    const others = () => player.queue.slice(player.index + 1).filter((one) => !this.#own.has(one.id));
    const fresh = await this.#ask(others()).catch(() => null); // what was queued before still plays
    if (fresh && this.on) player.setNext([...others(), ...fresh]);
  }

  async #next() {
    try {
      return await this.#ask(player.queue.slice(player.index + 1));
    } catch (error) {
      if (!isAbort(error) && error.status) sayError(error);
      throw error;
    }
  }

  /** The songs after those in `queued`; none if a later request was sent meanwhile. */
  async #ask(queued) {
    const turn = (this.#turn += 1);
    const ahead = queued.filter((song) => !song.src).map((song) => ({ song_id: song.id, reaction: "played" }));
    const heard = this.#heard.length ? this.#heard : [{ song_id: this.#seeds[0], reaction: "played" }];
    const { songs } = await post("/radio", {
      seeds: this.#seeds,
      heard: [...heard, ...ahead].slice(-MAX_HEARD),
      n: N_AHEAD,
      shuffle: this.#shuffle,
    });
    if (turn !== this.#turn) return [];
    const next = songs.map((one) => one.song);
    for (const song of next) this.#own.add(song.id);
    this.#keep();
    return next;
  }

  #keep() {
    const own = [...this.#own].slice(-MAX_HEARD);
    store(KEY, { seeds: this.#seeds, heard: this.#heard, shuffle: this.#shuffle, name: this.name, own });
    this.#isKept = true;
  }
}

export const radio = new Radio();

export function rememberRadio() {
  radio.restore();
  player.addEventListener("change", () => radio.watch());
  player.addEventListener("skipped", ({ detail }) => radio.react(detail.song, "skipped"));
  hearts.addEventListener("told", ({ detail }) => radio.react(detail.song, detail.reaction));
}
