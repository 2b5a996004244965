// A training's report -> sentences that need no explanation. Scores come as shares of pairs in the right order, 0 to 1.

import { count, number } from "../format.js";

export const NAMES = {
  random: "Chance", popularity: "Popularity alone", native: "Sound alone", imported: "Imported model",
  learned: "Learned from listeners", ceiling: "Listeners themselves",
};

export const MEANINGS = {
  random: "Throwing a coin.",
  popularity: "Always the artists that most people play; no sound.",
  native: "How alike songs sound, before any learning.",
  imported: "A model that came from elsewhere.",
  learned: "Sound, weighed as listeners taught it.",
  ceiling: "One half of the listeners predicts the other half: more can hardly be expected.",
};

const hundred = (share) => Math.round(100 * share);
const of = (report, name, panel) => report.rows.find((row) => row.name === name)?.[panel] ?? null;

/** {big, title, more} of a report with scores, or null. */
export function headline(report, kind) {
  const name = kind === "native" ? "native" : of(report, kind, "known") ? kind : "learned";
  const score = of(report, name, "known") ?? of(report, "native", "known");
  if (!score) return null;
  const native = of(report, "native", "known"), fresh = of(report, name, "unknown");
  const title = "of every 100 pairs – a song listeners find similar, and one they don’t – are in the right order.";
  const more = [
    native && name !== "native" && `By sound alone it would be ${hundred(native.mean)}; by chance, 50.`,
    name === "native" && "This is by sound alone; chance would give 50.",
    `With other artists to judge by, ${hundred(score.mean)} could as well have been ${hundred(score.low)} to ${hundred(score.high)}.`,
    fresh && `Among artists none of which it has seen, it is ${hundred(fresh.mean)}.`,
  ];
  return { big: hundred(score.mean), title, more: more.filter(Boolean).join(" ") };
}

/** Why nothing new was learned, in the service's words; nothing if something was. */
export function decision(report) {
  if (!report || report.decision === "learned") return "";
  return report.sentences[0] ?? "";
}

/** What changed between two reports of the model that answers. */
export function changed(before, after) {
  const name = (report) => (report && of(report, "learned", "known") && report.decision === "learned" ? "learned" : "native");
  const old = before && of(before, name(before), "known"), now = after && of(after, name(after), "known");
  if (!after) return "";
  if (!old || !now) return `Learned from ${count(after.listeners, "listener")}.`;
  const step = hundred(now.mean) - hundred(old.mean);
  const how = step > 0 ? `${step} more than before` : step < 0 ? `${-step} fewer than before` : "as many as before";
  return `Learned anew from ${count(after.listeners, "listener")}: ${hundred(now.mean)} of 100 pairs in the right order, ${how}.`;
}

/** Never-played songs that come up, in one sentence. */
export function coldStart({ never_played: never, recommended, n }) {
  if (!never) return "Every song of the library has been played. Music that comes later, and that nobody has played yet, is counted here.";
  const share = recommended && recommended < never / 100 ? "less than 1" : hundred(recommended / never);
  return `Of ${count(never, "song")} nobody has played, ${number(recommended)} (${share}%) now come up among the ${n} nearest of something that was played.`;
}
