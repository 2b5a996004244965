// Radio: songs without end, each chosen by what was just played, liked or skipped. The service remembers nothing of it.
//
//   startRadio({songs | artist | album | playlist, label})   shows its errors itself
//       songs              plays the first, or goes on from it if it is playing, then what follows
//       artist, album, playlist   by id: begins with one of their songs
//       label              what it is called; else the title of the first song
//   radio.stop(): what is queued still plays, then nothing follows
//   radio.clear(): takes away what is queued, and chooses other songs
//   radio.on: whether it fills the queue; radio.name: what it started from
//   radio.fills(snapshot): whether it filled that queue of the player
//   radio.surprise: 0 familiar to 1 surprising; another one chooses what comes next again
//   rememberRadio(): goes on with the radio after a reload; to be called when the queue is restored

import { isAbort, post } from "../core/api.js";
import { brief, titleOf } from "../core/format.js";
import { preferences } from "../core/preferences.js";
import { store, stored } from "../core/storage.js";
import { say, sayError } from "../core/toasts.js";
import { hearts } from "../songs/hearts.js";
import { isCurrent, player } from "./player.js";

const KEY = "nearsong.radio";
const MAX_HEARD = 500;
const MAX_SEEDS = 100; // of the API
const N_AHEAD = 3; // songs that are fetched at a time
const MAX_SHUFFLE = 2 ** 31;

class Radio {
  // `more` of the player -> {name, seeds, shuffle, heard, own}: a queue that is had back has its radio again
  //   heard: {song_id, reaction}, in order; the last is the current song       own: ids of songs that the radio queued
  #runs = new WeakMap();
  #turn = 0; // of the latest request
  #isKept = false; // whether there is something to forget

  get #run() {
    return player.more ? this.#runs.get(player.more) : undefined;
  }

  get on() {
    return Boolean(this.#run);
  }

  get name() {
    return this.#run?.name ?? "";
  }

  fills({ more }) {
    return Boolean(more) && this.#runs.has(more);
  }

  get surprise() {
    return preferences.get("surprise");
  }
  set surprise(value) {
    preferences.set("surprise", value);
    this.#chooseAgain();
  }

  start(songs, name = titleOf(songs[0])) {
    const seeds = spread(songs, MAX_SEEDS).map((song) => song.id);
    const more = this.#begin({ name, seeds, shuffle: anyShuffle(), heard: [], own: new Set() });
    const from = { label: `Radio: ${name}` };
    say(`Radio: “${brief(name)}”. It follows what you play, heart and skip.`);
    if (isCurrent(songs[0])) {
      player.branch({ more, from });
      if (!player.playing) player.toggle();
    } else player.play([songs[0]], { more, from });
  }

  #begin(run) {
    const more = () => this.#next(run);
    this.#runs.set(more, run);
    return more;
  }

  stop() {
    if (!this.on) return;
    player.from = null;
    player.follow(null);
  }

  clear() {
    this.#run.shuffle = anyShuffle(); // else the same songs would come again
    player.setNext([]);
    return this.#chooseAgain();
  }

  restore() {
    const kept = stored(KEY);
    if (!Array.isArray(kept?.seeds) || !kept.seeds.length || !Array.isArray(kept.heard)) return;
    if (!player.current || player.current.id !== kept.heard.at(-1)?.song_id) return;
    const { seeds, heard } = kept;
    this.#isKept = true;
    const own = new Set(kept.own);
    player.follow(this.#begin({ name: String(kept.name), seeds, heard, shuffle: Number(kept.shuffle) || 0, own }));
  }

  /** The current song is part of the radio from now on. */
  watch() {
    const song = player.current;
    if (!this.on && this.#isKept) store(KEY, null);
    this.#isKept &&= this.on;
    const run = this.#run;
    if (!run || !song || song.src || run.heard.at(-1)?.song_id === song.id) return;
    run.heard = [...run.heard, { song_id: song.id, reaction: "played" }].slice(-MAX_HEARD);
    this.#keep();
  }

  /** The current song is left: the next one waits for the choice. */
  skip({ song, waitFor }) {
    if (this.on) waitFor(this.react(song, "skipped"));
  }

  /** What the listener did with a song; what comes next is chosen again. */
  async react(song, reaction) {
    const heard = this.#run?.heard.findLast((one) => one.song_id === song.id);
    if (!heard || heard.reaction === reaction) return;
    heard.reaction = reaction;
    this.#keep();
    await this.#chooseAgain();
  }

  /** Replace what the radio has queued; what was queued by hand stays. */
  async #chooseAgain() {
    const run = this.#run;
    if (!run) return;
    const song = player.current;
    const others = () => player.queue.slice(player.index + 1).filter((one) => !run.own.has(one.id));
    const fresh = await this.#ask(run, others()).catch(() => null); // what was queued before still plays
    if (!fresh || this.#run !== run) return;
    if (player.current !== song) await this.#chooseAgain(); // the choice came too late for that song
    else player.setNext([...others(), ...fresh]);
  }

  async #next(run) {
    try {
      return (await this.#ask(run, player.queue.slice(player.index + 1))) ?? [];
    } catch (error) {
      if (!isAbort(error) && error.status) sayError(error);
      throw error;
    }
  }

  /** The songs after those in `queued`; null if a later request was sent meanwhile. */
  async #ask(run, queued) {
    const turn = (this.#turn += 1);
    const ahead = queued.filter((song) => !song.src).map((song) => ({ song_id: song.id, reaction: "played" }));
    const heard = run.heard.length ? run.heard : [{ song_id: run.seeds[0], reaction: "played" }];
    const { songs } = await post("/radio", {
      seeds: run.seeds,
      heard: [...heard, ...ahead].slice(-MAX_HEARD),
      n: N_AHEAD,
      surprise: this.surprise,
      shuffle: run.shuffle,
    });
    if (turn !== this.#turn) return null;
    const next = songs.map((one) => one.song);
    for (const song of next) run.own.add(song.id);
    if (this.#run === run) this.#keep();
    return next;
  }

  #keep() {
    const { seeds, heard, shuffle, name, own } = this.#run;
    store(KEY, { seeds, heard, shuffle, name, own: [...own].slice(-MAX_HEARD) });
    this.#isKept = true;
  }
}

const anyShuffle = () => Math.floor(Math.random() * MAX_SHUFFLE);

/** At most so many songs, evenly spaced, to stand for all. */
const spread = (songs, most) =>
  songs.length <= most
    ? songs
    : Array.from({ length: most }, (_, i) => songs[Math.round((i * (songs.length - 1)) / (most - 1))]);

export const radio = new Radio();

export async function startRadio({ songs, artist, album, playlist, label }) {
  try {
    let seeds = songs?.filter((song) => !song.src);
    if (!seeds) {
      ({ seeds } = await post("/radio", { artist, album, playlist, n: 1 }));
      const first = Math.floor(Math.random() * seeds.length);
      seeds = [seeds[first], ...seeds.filter((_, i) => i !== first)];
    }
    if (seeds.length) radio.start(seeds, label);
  } catch (error) {
    sayError(error);
  }
}

export function rememberRadio() {
  radio.restore();
  player.addEventListener("change", () => radio.watch());
  player.addEventListener("skipped", ({ detail }) => radio.skip(detail));
  hearts.addEventListener("told", ({ detail }) => radio.react(detail.song, detail.reaction));
}
