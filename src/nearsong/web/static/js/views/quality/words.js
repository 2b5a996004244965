// The report of a training -> sentences. Scores are shares of pairs in the right order, 0 to 1.

import { count, number } from "../../core/format.js";

export const NAMES = {
  random: "Random order",
  popularity: "Popularity",
  native: "Sound alone",
  imported: "Imported model",
  active: "Model in use",
  paper: "The paper's method",
  mlr: "The paper's method, more of the sound",
  listener_space: "Predicted listeners",
  combined: "Both together",
  learned: "Learned, chosen beforehand",
  ceiling: "Listeners themselves",
};

export const MEANINGS = {
  random: "As drawn by lot; chance gives 50 on average.",
  popularity: "The most popular artists first, whatever the song.",
  native: "Similar sound, without training.",
  imported: "A model that was trained elsewhere, scored here.",
  active: "The model in use until then, trained again without the held-out artists from what it knew.",
  paper: "Codewords, weighted so that songs with the same listeners are near.",
  mlr: "The same, with everything that is heard of a song.",
  listener_space: "Where the listeners of a song would put it, predicted from its sound.",
  combined: "Predicted listeners and the paper's weights.",
  learned:
    "In each test the learned method that was best on other artists. Which one is best on these is known only " +
    "afterwards, so one of them may be above it.",
  ceiling: "Half of the listeners predict the other half.",
};

const hundred = (share) => Math.round(100 * share);
const of = (report, name, panel) => report.rows.find((row) => row.name === name)?.[panel] ?? null;

/** The row of the model in use, of this kind: a training whose model was refused has measured that one as "active". */
function rowInUse(report, kind) {
  const inUse = report.decision === "active" && of(report, "active", "known") ? "active" : kind;
  return inUse === "native" || of(report, inUse, "known") ? inUse : "learned";
}

/** {big, title, more} of a report with scores, or null. */
export function headline(report, kind) {
  const name = rowInUse(report, kind);
  const score = of(report, name, "known") ?? of(report, "native", "known");
  if (!score) return null;
  const native = of(report, "native", "known");
  const fresh = of(report, name, "unknown");
  const title = "of 100 pairs are in the right order: a song that listeners find similar before one they do not.";
  const more = [
    native && name !== "native" && `Sound alone: ${hundred(native.mean)}. Chance: 50.`,
    name === "native" && "This is sound alone. Chance: 50.",
    `95% confidence interval: ${hundred(score.low)} to ${hundred(score.high)}.`,
    fresh && `Unseen artists: ${hundred(fresh.mean)}.`,
  ];
  return { big: hundred(score.mean), title, more: more.filter(Boolean).join(" ") };
}

/** A sentence where popularity ranks better than the model in use; "" where it does not. */
export function popularityWins(report, kind) {
  if (!["learned", "active"].includes(report.decision)) return ""; // sound alone is in use
  const name = rowInUse(report, kind);
  const won = [
    ["known", "for known songs"],
    ["unknown", "for new artists"],
  ].filter(([panel]) => {
    const model = of(report, name, panel);
    const popular = of(report, "popularity", panel);
    return model && popular && hundred(popular.mean) > hundred(model.mean);
  });
  if (!won.length) return "";
  const scores = won.map(
    ([panel, where]) =>
      `${where} (${hundred(of(report, "popularity", panel).mean)} against ` +
      `${hundred(of(report, name, panel).mean)} of 100)`,
  );
  return (
    `Ranking by popularity alone is better than the model ${scores.join(" and ")}. ` +
    "It always names the same popular artists, though, and cannot rank songs that nobody has played."
  );
}

/** Why the new model was not used, or "" if it was. */
export function decision(report) {
  if (!report || report.decision === "learned") return "";
  return report.sentences[0] ?? "";
}

/** What changed between two reports of the active model, the verdict first. */
export function changed(before, after) {
  const name = (report) =>
    report && of(report, "learned", "known") && report.decision === "learned" ? "learned" : "native";
  const old = before && of(before, name(before), "known");
  const now = after && of(after, name(after), "known");
  if (!after) return "";
  if (after.decision === "learned" && of(after, "active", "known")) return after.sentences[0]; // the same artists
  if (!old || !now) return `Trained on ${count(after.listeners, "listener")}.`;
  const step = hundred(now.mean) - hundred(old.mean);
  const verdict = step > 0 ? "Better" : step < 0 ? "Worse" : "Unchanged";
  const was = step ? `, was ${hundred(old.mean)}` : "";
  const listeners = count(after.listeners, "listener");
  return `${verdict}: ${hundred(now.mean)} of 100 pairs in the right order${was}. Trained on ${listeners}.`;
}

/** How many unplayed songs are recommended. */
export function coldStart({ never_played: never, recommended, n }) {
  if (!never) return "Every song in the library has been played. New, unplayed songs are counted here.";
  const share = recommended && recommended < never / 100 ? "less than 1" : hundred(recommended / never);
  const unplayed = count(never, "unplayed song");
  return `${number(recommended)} of ${unplayed} (${share}%) are among the ${n} songs most similar to a played one.`;
}
