// Models: which is in use, going back to another, two side by side, removing one.

import { del, get, put } from "../../core/api.js";
import { button, h, icon, iconButton } from "../../core/dom.js";
import { count, day } from "../../core/format.js";
import { say, sayError } from "../../core/toasts.js";
import { confirmed, dialog } from "./confirm.js";
import { busy } from "./switch.js";

const kindOf = ({ kind, is_learned: isLearned }) =>
  `${isLearned ? "Learned from listeners" : "Sound alone"}${kind === "imported" ? ", imported" : ""}`;

const nameOf = (model) => `${kindOf(model)} ${model.id}`;

export async function modelsSection(app, again) {
  const { models } = await get("/model", {}, { signal: app.signal });
  if (!models.length)
    return h("p", { class: "muted" }, "No model yet: the first scan makes one, from sound alone. Training adds more.");
  const newest = [...models].sort((one, other) => other.created - one.created);
  const active = models.find((model) => model.active);
  return [
    h(
      "p",
      { class: "muted" },
      "Each training adds a model. It is used only if it is better; you can go back to any earlier one. ",
      h("a", { href: "#/quality" }, "How good the one in use is"),
    ),
    h(
      "ul",
      { class: "settings-rows", id: "models", role: "list" },
      newest.map((model) => row(app, model, active, again)),
    ),
  ];
}

function row(app, model, active, again) {
  const facts = [
    day(model.created),
    model.score !== null && `${Math.round(100 * model.score)} of 100 in the right order`,
  ].filter(Boolean);
  const use = button("Activate", () => busy(use, () => activate(app, model, again)), {
    class: "button quiet small",
    "aria-label": `Activate ${nameOf(model)}`,
  });
  const compare = button("Compare", () => busy(compare, () => compareWith(active, model)), {
    class: "button quiet small",
    "aria-label": `Compare ${nameOf(model)} with the one in use`,
  });
  return h(
    "li",
    { class: "settings-row model-row" },
    h(
      "div",
      {},
      h("p", {}, h("strong", {}, kindOf(model)), h("span", { class: "muted" }, ` ${model.id}`)),
      h("p", { class: "muted small-text number" }, facts.join(" · ")),
    ),
    model.active
      ? h("span", { class: "mark good" }, icon("check"), "Active")
      : h(
          "div",
          { class: "cluster" },
          active && compare,
          use,
          iconButton("trash", `Remove ${nameOf(model)}`, () => remove(model, again).catch(sayError)),
        ),
  );
}

async function activate(app, model, again) {
  const { not_analysed: pending } = await put("/model", { id: model.id });
  if (pending)
    say(`It becomes active once ${count(pending, "more song is", "more songs are")} analysed: scan the library.`);
  else say(`“${nameOf(model)}” is now active.`, { kind: "good" });
  await app.refreshStatus();
  await again();
}

async function remove(model, again) {
  const yes = await confirmed({
    title: `Remove ${nameOf(model)}?`,
    words: [
      `It was made on ${day(model.created)}. Songs, listening histories and the model in use stay as they are.`,
      "This cannot be undone, but training again makes a new one.",
    ],
    action: "Remove model",
  });
  if (!yes) return;
  await del(`/model/${model.id}`);
  say(`“${nameOf(model)}” was removed.`, { kind: "good" });
  await again();
}

async function compareWith(active, model) {
  const found = await get("/model/compare", { first: active.id, second: model.id });
  const score = (estimate) => {
    if (!estimate) return "–";
    const margin = (50 * (estimate.high - estimate.low)).toFixed(1);
    return [`${(100 * estimate.mean).toFixed(1)} `, h("span", { class: "muted" }, `± ${margin}`)];
  };
  const lines = [
    ["Known songs: right order, of 100", (one) => score(one.known)],
    ["Unseen artists: right order, of 100", (one) => score(one.unknown)],
    ["Learned from", (one) => one.learned_from || "sound alone"],
    ["Made", (one) => day(one.created)],
    ["Encoders", (one) => one.encoders.join(", ")],
  ];
  dialog(
    "Two models side by side",
    h("div", { class: "stack tight" }, found.words.map((text, i) => h("p", { class: i ? "muted" : null }, text))),
    h(
      "div",
      { class: "quality-scroll" },
      h(
        "table",
        { class: "quality-table compare-table" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("td", {}),
            [active, model].map((one) => h("th", { scope: "col" }, nameOf(one), one.active && " (in use)")),
          ),
        ),
        h(
          "tbody",
          {},
          lines.map(([title, tell]) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, title),
              found.models.map((one) => h("td", { class: "number" }, tell(one))),
            ),
          ),
        ),
      ),
    ),
  );
}
