// The songs of the queue in the order in which they play, and what comes after what.
//
//   order.set(songs, index, {shuffle, pinned})    pinned: the song at `index` is the first even if shuffled
//   order.songs, order.index, order.current
//   order.shuffle, order.repeat ("off", "all" or "one")
//   order.after({byItself}) -> index of what follows, or -1; byItself: the song ended, nobody pressed next
//   order.insert(songs, at), .append(songs), .remove(at), .move(from, to), .replaceNext(songs)
//   order.setShuffle(on): what comes after the current song is mixed, or in its old order again

export const REPEATS = ["off", "all", "one"];

export class Order {
  songs = [];
  index = -1;
  shuffle = false;
  repeat = "off";
  #plain = []; // the same songs, not shuffled

  get current() {
    return this.songs[this.index] || null;
  }

  get plain() {
    return this.#plain;
  }

  set(songs, index, { pinned = true } = {}) {
    this.#plain = [...songs];
    this.songs = [...songs];
    this.index = Math.min(Math.max(0, index), songs.length - 1);
    if (!this.shuffle) return;
    if (pinned) this.#mixNext(true);
    else {
      this.songs = mixed(songs);
      this.index = songs.length ? 0 : -1;
    }
  }

  restore(songs, index, plain) {
    this.songs = [...songs];
    this.index = index;
    this.#plain = plain?.length === songs.length ? plain : [...songs];
  }

  after({ byItself = false } = {}) {
    if (byItself && this.repeat === "one") return this.index;
    if (this.index + 1 < this.songs.length) return this.index + 1;
    return this.repeat === "off" || !this.songs.length ? -1 : 0;
  }

  insert(songs, at) {
    const before = this.songs[at - 1];
    this.songs.splice(at, 0, ...songs);
    this.#plain.splice(this.#plain.indexOf(before) + 1, 0, ...songs);
  }

  append(songs) {
    this.songs.push(...songs);
    this.#plain.push(...songs);
  }

  remove(at) {
    const [song] = this.songs.splice(at, 1);
    this.#plain.splice(this.#plain.indexOf(song), 1);
    if (at < this.index) this.index -= 1;
  }

  move(from, to) {
    const [song] = this.songs.splice(from, 1);
    this.songs.splice(to, 0, song);
    if (from === this.index) this.index = to;
    else if (from < this.index && to >= this.index) this.index -= 1;
    else if (from > this.index && to <= this.index) this.index += 1;
    if (!this.shuffle) this.#plain = [...this.songs];
  }

  replaceNext(songs) {
    const gone = new Set(this.songs.splice(this.index + 1, Infinity, ...songs));
    const kept = new Set(this.songs.slice(0, this.index + 1));
    this.#plain = [...this.#plain.filter((song) => kept.has(song) || !gone.has(song)), ...songs];
  }

  setShuffle(on) {
    if (on === this.shuffle) return;
    this.shuffle = on;
    if (on) return this.#mixNext(false);
    const now = this.current;
    this.songs = [...this.#plain];
    this.index = now ? this.songs.indexOf(now) : -1;
  }

  /** Mix what comes after the current song; with `all`, what is before it, too. */
  #mixNext(all) {
    const now = this.current;
    if (!now) return;
    const before = all ? [] : this.songs.slice(0, this.index);
    const rest = all ? this.songs.filter((_, i) => i !== this.index) : this.songs.slice(this.index + 1);
    this.songs = [...before, now, ...mixed(rest)];
    this.index = before.length;
  }
}

/** In random order, each order as likely as any other. */
function mixed(songs) {
  const left = [...songs];
  for (let i = left.length - 1; i > 0; i -= 1) {
    const j = Math.floor(Math.random() * (i + 1));
    [left[i], left[j]] = [left[j], left[i]];
  }
  return left;
}
