// The map as the API or an exported page gives it (packed columns) -> typed arrays, and a song for each row.

const STEPS = 65535; // positions and closeness are whole numbers of 65,535ths

/** Base64 of little-endian whole numbers, `width` bytes each -> Uint32Array. */
export function unpack({ width, bytes }) {
  const raw = atob(bytes);
  const count = Math.floor(raw.length / width);
  const numbers = new Uint32Array(count);
  for (let i = 0, at = 0; i < count; i++) {
    let value = 0;
    for (let b = 0; b < width; b++) value += raw.charCodeAt(at++) * 2 ** (8 * b);
    numbers[i] = value;
  }
  return numbers;
}

/** The map as the rest of the page uses it: row i of every column is the same song. */
export class Columns {
  constructor(answer) {
    this.n = answer.songs;
    this.missing = answer.missing;
    this.model = answer.model;
    this.titles = answer.titles;
    this.artists = answer.artists;
    this.genres = answer.genres;
    this.genreLabels = answer.genre_labels;
    this.artistLabels = answer.artist_labels;
    for (const name of ["ids", "artist", "genre", "years", "seconds", "plays"]) this[name] = unpack(answer[name]);
    this.positions = Uint16Array.from(unpack(answer.positions)); // the format of the vertex buffer
    this.x = new Float32Array(this.n);
    this.y = new Float32Array(this.n);
    for (let i = 0; i < this.n; i++) {
      this.x[i] = this.positions[2 * i] / STEPS;
      this.y[i] = this.positions[2 * i + 1] / STEPS;
    }
    this.similar = answer.similar && {
      count: answer.similar.count,
      rows: unpack(answer.similar.rows),
      closeness: unpack(answer.similar.closeness),
      words: answer.similar.closeness_words, // [lowest closeness, word], the closest first
    };
    this.rowOf = new Map();
    for (let i = 0; i < this.n; i++) this.rowOf.set(this.ids[i], i);
  }

  title(i) {
    return this.titles[i] || "(no title)";
  }

  artistName(i) {
    return this.artists[this.artist[i]] || "";
  }

  fullName(i) {
    return this.artistName(i) ? `${this.title(i)} by ${this.artistName(i)}` : this.title(i);
  }

  /** The most similar songs, where the page holds them: [{row, closeness, word}], the closest first. */
  neighbours(i) {
    const { count, rows, closeness, words } = this.similar;
    const wordOf = (value) => words.find(([lowest]) => value >= lowest)[1];
    return Array.from({ length: count }, (_, k) => i * count + k)
      .filter((at) => rows[at] < this.n)
      .map((at) => ({ row: rows[at], closeness: closeness[at] / STEPS, word: wordOf(closeness[at] / STEPS) }));
  }

  /** A song in the form of the API, with the fields that the map has. */
  song(i) {
    return {
      id: this.ids[i],
      title: this.titles[i],
      artist: this.artistName(i),
      album: "",
      genre: this.genres[this.genre[i]] || "",
      year: this.years[i] || null,
      seconds: this.seconds[i],
      plays: this.plays[i],
    };
  }
}

const fold = (text) =>
  text
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

/** Finds rows by words of title and artist; whole names and beginnings of names first. */
export class Finder {
  constructor(columns) {
    this.columns = columns;
    this.keys = null;
  }

  find(text, most = 10) {
    const wanted = fold(text);
    if (!wanted) return [];
    const { columns } = this;
    const words = wanted.split(" ");
    this.keys ||= { titles: columns.titles.map(fold), artists: columns.artists.map(fold) };
    const rank = (key) => (key === wanted ? 0 : key.startsWith(wanted) ? 1 : ` ${key}`.includes(` ${wanted}`) ? 2 : 3);
    const found = [];
    for (let i = 0; i < columns.n; i++) {
      const title = this.keys.titles[i];
      const artist = this.keys.artists[columns.artist[i]];
      if (!words.every((word) => title.includes(word) || artist.includes(word))) continue;
      found.push([Math.min(rank(title), rank(artist) + 0.5, rank(`${artist} ${title}`)), i]);
    }
    return found
      .sort((a, b) => a[0] - b[0] || a[1] - b[1])
      .slice(0, most)
      .map(([, i]) => i);
  }
}
