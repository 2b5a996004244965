// The stored models; each can be activated.
//
//   keptModels(model, again, mayChange) -> node        again({text}): redraws the view with this message

import { put } from "../../core/api.js";
import { button, h, icon } from "../../core/dom.js";
import { count, day } from "../../core/format.js";
import { sayError } from "../../core/toasts.js";

const KINDS = { native: "Sound alone", learned: "Learned from listeners", imported: "Imported" };

export function keptModels(model, again, mayChange) {
  const use = async (button, kept) => {
    button.disabled = true;
    try {
      const { not_analysed } = await put("/model", { id: kept.id });
      const pending = count(not_analysed, "more song is", "more songs are");
      const wait = `It becomes active once ${pending} analysed: scan the library.`;
      again({ text: not_analysed ? wait : `“${nameOf(kept)}” is now active.` });
    } catch (error) {
      button.disabled = false;
      sayError(error);
    }
  };
  const newest = [...model.models].sort((one, other) => other.created - one.created);
  return h(
    "section",
    { class: "stack", "aria-labelledby": "models-title" },
    h(
      "div",
      {},
      h("h2", { id: "models-title" }, "Previous models"),
      mayChange && h("p", { class: "muted" }, "You can go back to any earlier model."),
    ),
    h(
      "ul",
      { id: "models", class: "kept-models", role: "list" },
      newest.map((kept) => row(kept, mayChange && use)),
    ),
  );
}

const nameOf = (kept) => `${KINDS[kept.kind] ?? kept.kind} ${kept.id}`;

function row(kept, use) {
  const facts = [
    day(kept.created),
    kept.score !== null && `${Math.round(100 * kept.score)} of 100 in the right order`,
  ].filter(Boolean);
  const activate = button("Activate", () => use(activate, kept), {
    class: "button quiet small",
    "aria-label": `Activate ${nameOf(kept)}`,
  });
  return h(
    "li",
    { class: "kept-model" },
    h(
      "div",
      {},
      h("strong", {}, KINDS[kept.kind] ?? kept.kind),
      h("span", { class: "muted" }, ` ${kept.id}`),
      h("p", { class: "muted small-text number" }, facts.join(" · ")),
    ),
    kept.active ? h("span", { class: "mark good" }, icon("check"), "Active") : use && activate,
  );
}
