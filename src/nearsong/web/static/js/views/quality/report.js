// The report of a training: verdict, charts, table, training data, method.
//
//   hero(report, model), pictures(report), learnedFrom(report), howMeasured(report), advice(report) -> nodes

import { intervals } from "./charts.js";
import { h, icon } from "../../core/dom.js";
import { longTime, number } from "../../core/format.js";
import { decision, headline, MEANINGS, NAMES, popularityWins } from "./words.js";

const PANELS = [
  ["known", "Known songs", "Each song of a held-out artist, compared with the songs the model was trained on."],
  ["unknown", "Unseen artists", "The same, among songs of held-out artists only: music without any listening data."],
];

const MEASURED = [
  "Some artists are held out before training, several times. For each of their songs, all other songs are ranked by " +
    "similarity. Songs of artists that share many listeners with it should come first. A pair of one such song and " +
    "one other song is in the right order if the first ranks higher. Chance gives 50 of 100; 100 is perfect.",
  "Confidence intervals come from resampling the held-out artists.",
];

export function hero(report, model) {
  const kind = model.active?.kind ?? "learned";
  const main = headline(report, kind);
  const refused = decision(report);
  const warning =
    refused &&
    h(
      "div",
      { class: "note warn", id: "refusal", tabindex: "-1" },
      icon("info"),
      h("div", { class: "stack" }, h("p", {}, refused), advice(report)),
    );
  if (!main) return h("section", { class: "quality-hero" }, warning);
  const popular = popularityWins(report, kind);
  return h(
    "section",
    { class: "quality-hero", "aria-label": "Result" },
    h(
      "p",
      { class: "quality-lead", id: "quality-headline" },
      h("strong", { class: "quality-big number" }, String(main.big)),
      ` ${main.title}`,
    ),
    h("p", { class: "quality-more" }, main.more),
    popular && h("p", { class: "quality-more", id: "popularity-wins" }, popular),
    warning,
  );
}

/** What would improve the result, if the report says so. */
export function advice(report) {
  return report?.advice ? h("p", {}, report.advice) : null;
}

export function pictures(report) {
  const dot = (row, { mean, low, high }) => ({
    label: NAMES[row.name] ?? row.label,
    kind: ["learned", "native"].includes(row.name) ? row.name : "other",
    mean: 100 * mean,
    low: 100 * low,
    high: 100 * high,
  });
  const panels = PANELS.map(([panel, title, words]) => ({
    title,
    words,
    dots: report.rows.filter((row) => row[panel]).map((row) => dot(row, row[panel])),
  })).filter(({ dots }) => dots.length);
  const lows = panels.flatMap(({ dots }) => dots.map(({ low }) => low));
  const from = Math.max(0, Math.min(45, Math.floor(Math.min(...lows) / 5) * 5));
  const figure = ({ title, words, dots }) => {
    const label = `${title}: ${dots.map((each) => `${each.label} ${Math.round(each.mean)}`).join(", ")}, of 100`;
    return h(
      "figure",
      { class: "card quality-panel" },
      h("figcaption", {}, h("h3", {}, title), h("p", { class: "muted small-text" }, words)),
      intervals(dots, { label, from, to: 100, unit: "pairs in the right order, of 100" }),
    );
  };
  return h(
    "section",
    { class: "stack", "aria-labelledby": "methods-title" },
    h(
      "div",
      {},
      h("h2", { id: "methods-title" }, "Compared with other methods"),
      h("p", { class: "muted" }, "Dots are averages, lines 95% confidence intervals."),
    ),
    h("div", { class: "quality-panels" }, panels.map(figure)),
    numbers(report),
  );
}

function numbers(report) {
  const tenth = (share) => (100 * share).toFixed(1);
  const cell = (found) =>
    h("td", { class: "number" }, found ? `${tenth(found.mean)} (${tenth(found.low)} to ${tenth(found.high)})` : "–");
  const head = ["Method", ...PANELS.map(([, title]) => title), "Description"].map((text) =>
    h("th", { scope: "col" }, text),
  );
  const row = (each) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, NAMES[each.name] ?? each.label),
      cell(each.known),
      cell(each.unknown),
      h("td", { class: "muted" }, MEANINGS[each.name] ?? ""),
    );
  const table = h(
    "table",
    { class: "quality-table" },
    h("caption", { class: "visually-hidden" }, "Pairs in the right order, of 100, with 95% confidence intervals"),
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, report.rows.map(row)),
  );
  return h(
    "details",
    { class: "quality-details", id: "quality-numbers" },
    h("summary", {}, "Show as a table"),
    h("div", { class: "quality-scroll", tabindex: "0", role: "region", "aria-label": "Table of results" }, table),
  );
}

export function learnedFrom(report) {
  const fact = (value, what) => h("div", { class: "fact" }, h("dt", {}, what), h("dd", { class: "number" }, value));
  const counted = (n, what) => fact(number(n), n === 1 ? what : `${what}s`);
  return h(
    "section",
    { class: "stack", "aria-labelledby": "from-title" },
    h("h2", { id: "from-title" }, report.decision === "learned" ? "Training data" : "Test data"),
    h(
      "dl",
      { class: "facts" },
      counted(report.listeners, "listener"),
      counted(report.artists, "artist"),
      counted(report.songs, "song"),
      report.seconds > 0 && fact(longTime(report.seconds), "of training"),
    ),
  );
}

export function howMeasured(report) {
  return h(
    "details",
    { class: "quality-details", id: "how-measured" },
    h("summary", {}, "How this is measured"),
    h(
      "div",
      { class: "stack" },
      MEASURED.map((text) => h("p", {}, text)),
      h("p", { class: "muted" }, "Training report:"),
      h(
        "ul",
        { class: "quality-report" },
        report.sentences.map((text) => h("li", {}, text)),
      ),
    ),
  );
}
