// The models that are kept, and a way back to each of them.
//
//   keptModels(model, again) -> node        again({text}): draws the view anew and says so

import { put } from "../api.js";
import { h, icon } from "../dom.js";
import { count, day } from "../format.js";
import { sayError } from "../toast.js";

const KINDS = { native: "Sound alone", learned: "Learned from listeners", imported: "Imported" };

export function keptModels(model, again) {
  const use = async (button, kept) => {
    button.disabled = true;
    try {
      const { unheard } = await put("/model", { id: kept.id });
      const wait = `It answers as soon as ${count(unheard, "song")} ${unheard === 1 ? "is" : "are"} heard for it: scan the library.`;
      again({ text: unheard ? wait : `“${nameOf(kept)}” answers now.` });
    } catch (error) {
      button.disabled = false;
      sayError(error);
    }
  };
  const newest = [...model.models].sort((one, other) => other.created - one.created);
  return h(
    "section", { class: "stack", "aria-labelledby": "models-title" },
    h("div", {}, h("h2", { id: "models-title" }, "What it has kept"), h("p", { class: "muted" }, "Earlier states stay; you can go back to any of them.")),
    h("ul", { id: "models", class: "kept-models", role: "list" }, newest.map((kept) => row(kept, use))),
  );
}

const nameOf = (kept) => `${KINDS[kept.kind] ?? kept.kind} no. ${kept.id}`;

function row(kept, use) {
  const facts = [day(kept.created), kept.score !== null && `${Math.round(100 * kept.score)} of 100 in the right order`].filter(Boolean);
  const button = h("button", { class: "button quiet small", type: "button", "aria-label": `Use this one: ${nameOf(kept)}`, on: { click: () => use(button, kept) } }, "Use this one");
  return h(
    "li", { class: "kept-model" },
    h("div", {}, h("strong", {}, KINDS[kept.kind] ?? kept.kind), h("span", { class: "muted" }, ` no.\u00a0${kept.id}`),
      h("p", { class: "muted small-text number" }, facts.join(" · "))),
    kept.active ? h("span", { class: "mark good" }, icon("check"), "Answers now") : button,
  );
}
