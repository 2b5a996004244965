// A training's report as the page shows it: one sentence, the picture, the numbers, what it was learned from, how it is measured.
//
//   hero(report, model), pictures(report), learnedFrom(report), howMeasured(report), advice(report) -> nodes

import { intervals } from "../charts.js";
import { h, icon } from "../dom.js";
import { longTime, number } from "../format.js";
import { decision, headline, MEANINGS, NAMES } from "./words.js";

const PANELS = [
  ["known", "Among songs it learned from", "A song of an artist it was not shown, among the songs it did learn from: are the right ones near it?"],
  ["unknown", "Among artists it never saw", "The same, among songs of artists none of which it was shown: music nobody has told it about."],
];

const MEASURED = [
  "Artists are put aside again and again before anything is learned. Then, for each of their songs, all others are put in order "
  + "from near to far. Listeners say which of them belong near: those by artists who share many listeners. A pair of one that does "
  + "and one that does not is in the right order if the first is nearer. Throwing a coin gives 50 of 100; 100 is perfect.",
  "The lines in the picture come from drawing the artists anew many times: they show how much hangs on which artists happened to be there.",
];

export function hero(report, model) {
  const said = headline(report, model.active?.kind ?? "learned"), refused = decision(report);
  const warning = refused && h("div", { class: "note warn", id: "refusal", tabindex: "-1" }, icon("info"), h("div", { class: "stack" }, h("p", {}, refused), advice(report)));
  if (!said) return h("section", { class: "quality-hero" }, warning);
  return h(
    "section", { class: "quality-hero", "aria-label": "In one sentence" },
    h("p", { class: "quality-lead", id: "quality-headline" }, h("strong", { class: "quality-big number" }, String(said.big)), ` ${said.title}`),
    h("p", { class: "quality-more" }, said.more), warning,
  );
}

/** What would help: the service's own words, if it says so. */
export function advice(report) {
  return report?.advice ? h("p", {}, report.advice) : null;
}

export function pictures(report) {
  const dot = (row, { mean, low, high }) => ({
    label: NAMES[row.name] ?? row.label, kind: ["learned", "native"].includes(row.name) ? row.name : "other",
    mean: 100 * mean, low: 100 * low, high: 100 * high,
  });
  const panels = PANELS.map(([panel, title, words]) => ({ title, words, dots: report.rows.filter((row) => row[panel]).map((row) => dot(row, row[panel])) }))
    .filter(({ dots }) => dots.length);
  const lows = panels.flatMap(({ dots }) => dots.map(({ low }) => low)), from = Math.max(0, Math.min(45, Math.floor(Math.min(...lows) / 5) * 5));
  const figure = ({ title, words, dots }) => {
    const label = `${title}: ${dots.map((each) => `${each.label} ${Math.round(each.mean)}`).join(", ")}, of 100`;
    return h("figure", { class: "card quality-panel" }, h("figcaption", {}, h("h3", {}, title), h("p", { class: "muted small-text" }, words)),
      intervals(dots, { label, from, to: 100, unit: "pairs in the right order, of 100" }));
  };
  return h(
    "section", { class: "stack", "aria-labelledby": "beside-title" },
    h("div", {}, h("h2", { id: "beside-title" }, "Beside simpler ways"),
      h("p", { class: "muted" }, "A dot is the average, the line around it is where it could as well have been by chance (95%).")),
    h("div", { class: "quality-panels" }, panels.map(figure)), numbers(report),
  );
}

function numbers(report) {
  const tenth = (share) => (100 * share).toFixed(1);
  const cell = (found) => h("td", { class: "number" }, found ? `${tenth(found.mean)} (${tenth(found.low)} to ${tenth(found.high)})` : "–");
  const head = ["Way", ...PANELS.map(([, title]) => title), "What it is"].map((text) => h("th", { scope: "col" }, text));
  const row = (each) => h("tr", {}, h("th", { scope: "row" }, NAMES[each.name] ?? each.label), cell(each.known), cell(each.unknown),
    h("td", { class: "muted" }, MEANINGS[each.name] ?? ""));
  const table = h(
    "table", { class: "quality-table" },
    h("caption", { class: "visually-hidden" }, "Pairs in the right order, of 100, with where it could as well have been by chance"),
    h("thead", {}, h("tr", {}, head)), h("tbody", {}, report.rows.map(row)),
  );
  return h("details", { class: "quality-details", id: "quality-numbers" }, h("summary", {}, "The numbers as a table"),
    h("div", { class: "quality-scroll", tabindex: "0", role: "region", "aria-label": "Table of the numbers" }, table));
}

export function learnedFrom(report) {
  const fact = (value, what) => h("div", { class: "fact" }, h("dt", {}, what), h("dd", { class: "number" }, value));
  const counted = (n, what) => fact(number(n), n === 1 ? what : `${what}s`);
  return h(
    "section", { class: "stack", "aria-labelledby": "from-title" },
    h("h2", { id: "from-title" }, report.decision === "learned" ? "What it was learned from" : "What it was judged with"),
    h("dl", { class: "facts" }, counted(report.listeners, "listener"), counted(report.artists, "artist"), counted(report.songs, "song"),
      report.seconds > 0 && fact(longTime(report.seconds), "of learning")),
  );
}

export function howMeasured(report) {
  return h("details", { class: "quality-details", id: "how-measured" }, h("summary", {}, "How this is measured"), h(
    "div", { class: "stack" }, MEASURED.map((text) => h("p", {}, text)),
    h("p", { class: "muted" }, "The report of the learning, as it was written:"),
    h("ul", { class: "quality-report" }, report.sentences.map((text) => h("li", {}, text))),
  ));
}
