// Which songs a playlist may hold: a form, drawn from the filters that the API describes.
//
//   loadFilters(signal) -> promise of the filters; those with choices have them as `items`
//   filters(described) -> [node, sync(state)]

import { get } from "../../core/api.js";
import { h } from "../../core/dom.js";
import { number as inWords } from "../../core/format.js";
import { formFilters } from "../../songs/filters.js";
import { draft } from "./draft.js";

const CONTROLS = { check, number, texts, choices }; // the kinds of filters, in the order of the form
const MAX_NAMED = 2; // values that the summary names

export async function loadFilters(signal) {
  const described = await formFilters();
  return Promise.all(
    described.map(async (filter) =>
      filter.choices ? { ...filter, items: await get(filter.choices, {}, { signal }) } : filter,
    ),
  );
}

export function filters(described) {
  const syncs = [];
  const kinds = Object.keys(CONTROLS);
  const ordered = [...described].sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind));
  const rows = new Map(); // heading -> the row of the numbers below it
  const body = h("div", { class: "filters-body" });
  for (const filter of ordered) {
    const [node, sync] = CONTROLS[filter.kind](filter);
    syncs.push((state) => sync(state.filters[filter.name]));
    if (filter.group && !rows.has(filter.group)) {
      rows.set(filter.group, h("div", { class: "filter-numbers" }, h("span", {}, filter.group)));
      body.append(rows.get(filter.group));
    }
    (rows.get(filter.group) ?? body).append(node);
  }
  const told = h("span", { class: "muted" });
  return [
    h("details", { class: "filters" }, h("summary", {}, "Filters ", told), body),
    (state) => {
      syncs.forEach((sync) => sync(state));
      const words = ordered.filter(({ name }) => name in state.filters).map((one) => summary(one, state.filters));
      told.textContent = words.length ? `· ${words.join(", ")}` : "";
    },
  ];
}

function summary({ name, label, summary: template }, values) {
  const value = values[name];
  if (Array.isArray(value) && value.length > MAX_NAMED) return `${inWords(value.length)} ${label.toLowerCase()}`;
  return template.replace("{}", () => [value].flat().join(", "));
}

/** Set a filter; null or an empty list removes it. */
function set(name, value) {
  const { [name]: _, ...others } = draft.state.filters;
  draft.change({ filters: value === null || value.length === 0 ? others : { ...others, [name]: value } });
}

// ---------------------------------------------------------------- controls: filter -> [node, sync(value)]

function check({ name, label, value }) {
  const input = h("input", {
    id: `filter-${name}`,
    type: "checkbox",
    on: { change: () => set(name, input.checked ? value : null) },
  });
  const sync = (chosen) => {
    input.checked = chosen !== undefined;
  };
  return [h("label", { class: "check" }, input, label), sync];
}

function number({ name, label, min, max }) {
  const input = h("input", {
    id: `filter-${name}`,
    class: "input filter-number",
    type: "number",
    inputmode: "numeric",
    min,
    max,
    placeholder: label.split(" ")[0].toLowerCase(),
    "aria-label": label,
  });
  input.addEventListener("change", () => {
    const value = Math.round(Number(input.value));
    const bounded = Math.min(Math.max(value, min ?? -Infinity), max ?? Infinity);
    set(name, input.value === "" || !Number.isFinite(value) ? null : bounded);
  });
  const sync = (chosen) => {
    if (document.activeElement !== input) input.value = chosen ?? "";
  };
  return [input, sync];
}

function texts({ name, label }) {
  const input = h("textarea", {
    id: `filter-${name}`,
    class: "input",
    rows: 2,
    placeholder: "One per line",
    on: {
      change: () => {
        const lines = input.value.split("\n").map((line) => line.trim());
        set(name, lines.filter(Boolean));
      },
    },
  });
  const sync = (chosen = []) => {
    if (document.activeElement !== input) input.value = chosen.join("\n");
  };
  return [h("div", { class: "field" }, h("label", { for: input.id }, label), input), sync];
}

function choices({ name, label, items }) {
  const boxes = items.filter((item) => item.name).map((item) => h("input", { type: "checkbox", value: item.name }));
  const change = () => {
    const checked = boxes.filter((box) => box.checked);
    set(
      name,
      checked.map((box) => box.value),
    );
  };
  const songs = new Map(items.map((item) => [item.name, item.songs]));
  const node = h(
    "fieldset",
    { class: "choices", id: `filter-${name}`, hidden: !boxes.length, on: { change } },
    h("legend", { class: "label" }, label),
    boxes.map((box) =>
      h(
        "label",
        { class: "choice" },
        box,
        h("span", { dir: "auto" }, box.value),
        h("span", { class: "muted number" }, String(songs.get(box.value))),
      ),
    ),
  );
  const sync = (chosen = []) =>
    boxes.forEach((box) => {
      box.checked = chosen.includes(box.value);
    });
  return [node, sync];
}
