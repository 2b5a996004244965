// Songs -> classes with a name, a count and a colour: by genre, by artist, by plays.

// Twelve colours for each theme, distinct for colour-blind people as well.
const CATEGORIES = {
  light: [
    "#533dde",
    "#eca21d",
    "#0c7e6f",
    "#d24cae",
    "#50b9f9",
    "#a3430b",
    "#2b1396",
    "#7d1d5b",
    "#8c8a02",
    "#82c28f",
    "#563506",
    "#8e7bed",
  ],
  dark: [
    "#4c86c4",
    "#fabb16",
    "#1eb471",
    "#fd8cb3",
    "#73d8ff",
    "#f3780a",
    "#7652f8",
    "#c6367b",
    "#f0fb2f",
    "#72fbb8",
    "#9c6618",
    "#ac97ff",
  ],
};
// From few to many: darker on light, lighter on dark, so that brightness alone tells the order.
const RAMP = {
  light: ["#e2a52f", "#d9703f", "#b14a72", "#6b3a94", "#1c2a74"],
  dark: ["#5660d8", "#9a55bf", "#e06c86", "#f59a52", "#f8e583"],
};
const OTHERS = { light: "#98a1ab", dark: "#727c87" };
const NOTHING = { light: "#c3cad1", dark: "#4b545e" };

/** The colours of categories 1 to 12; 0 is none of them. */
export const categoryColours = (shade) => [OTHERS[shade], ...CATEGORIES[shade]];

export const QUIET = { light: "#c9d0d6", dark: "#3b434b" };

export const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const figure = (value) => value.toLocaleString("en");

/** The theme that is shown, judging by the background colour. */
export function theme() {
  const numbers = getComputedStyle(document.documentElement)
    .backgroundColor.match(/[\d.]+/g)
    ?.map(Number) ?? [255, 255, 255];
  return 0.3 * numbers[0] + 0.59 * numbers[1] + 0.11 * numbers[2] < 128 ? "dark" : "light";
}

/** The colourings of this map, the default first. */
export function kinds(columns) {
  return [
    { value: "genre", name: "Genre", offered: columns.genres.length > 1 },
    { value: "artist", name: "Artist", offered: columns.artists.length > 1 },
    { value: "plays", name: "Plays", offered: true },
  ].filter((kind) => kind.offered);
}

/**
 * The classes of a colouring.
 *
 * Returns {kind, of, classes, front}: row -> class; {name, count, colour}; classes from `front` on are grey.
 */
export function colouring(columns, kind) {
  if (kind === "plays") return byPlays(columns);
  const genre = kind === "genre";
  return byGroup(genre ? columns.genre : columns.artist, genre ? columns.genres : columns.artists, kind);
}

function byGroup(values, names, kind) {
  const shade = theme();
  const counts = new Uint32Array(names.length + 1);
  const of = new Uint8Array(values.length);
  for (const value of values) counts[value]++;
  const nameless = (group) => names[group] === "" || names[group] === undefined;
  const largest = [...counts.keys()]
    .filter((g) => counts[g] && !nameless(g))
    .sort((a, b) => counts[b] - counts[a] || a - b);
  const shown = largest.slice(0, 12);
  const classOf = new Map(shown.map((group, c) => [group, c]));
  const others = shown.length;
  for (let i = 0; i < values.length; i++) of[i] = nameless(values[i]) ? others + 1 : (classOf.get(values[i]) ?? others);
  const classes = shown.map((group, c) => ({
    name: names[group],
    group,
    count: counts[group],
    colour: CATEGORIES[shade][c],
  }));
  const left = largest.slice(12);
  const rest = left.reduce((sum, group) => sum + counts[group], 0);
  classes.push({
    name: `${figure(left.length)} other ${kind}${left.length === 1 ? "" : "s"}`,
    count: rest,
    colour: OTHERS[shade],
  });
  const named = classes.reduce((sum, entry) => sum + entry.count, 0);
  classes.push({ name: `No ${kind}`, count: values.length - named, colour: NOTHING[shade] });
  return { kind, of, classes, front: others };
}

/** Lower bounds of up to five classes of plays: round numbers, about as many songs in each. */
function playSteps(plays) {
  const played = plays.filter((value) => value > 0).sort();
  const steps = new Set(played.length ? [1] : []);
  for (const share of [0.2, 0.4, 0.6, 0.8]) {
    const value = played[Math.floor(share * played.length)] ?? 1;
    const unit = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1) * (value >= 100 ? 5 : 1);
    steps.add(Math.max(1, Math.round(value / unit) * unit));
  }
  return [...steps].slice(0, 5).sort((a, b) => a - b);
}

function byPlays(columns) {
  const shade = theme();
  const { plays } = columns;
  const steps = playSteps(plays);
  const of = new Uint8Array(plays.length);
  const classes = steps.map((from, c) => {
    const to = steps[c + 1] - 1;
    const name =
      c === steps.length - 1
        ? `${figure(from)} plays or more`
        : from === to
          ? `${figure(from)} ${from === 1 ? "play" : "plays"}`
          : `${figure(from)} to ${figure(to)} plays`;
    return { name, count: 0, colour: RAMP[shade][steps.length === 1 ? 4 : Math.round((c * 4) / (steps.length - 1))] };
  });
  classes.push({ name: "Never played", count: 0, colour: OTHERS[shade] });
  for (let i = 0; i < plays.length; i++) {
    let c = steps.length;
    for (let s = 0; s < steps.length && plays[i] >= steps[s]; s++) c = s;
    of[i] = c;
    classes[c].count++;
  }
  return { kind: "plays", of, classes, front: steps.length };
}
