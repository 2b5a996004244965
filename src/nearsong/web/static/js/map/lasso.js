// Selecting songs by drawing around them.
//
//   lassoButton(stage) -> {node, set(on)}
//   lassoBar(stage, {clear, actions(rows) -> nodes}) -> node: what can be done with the selected songs

import { announce, h, icon, iconButton, replace } from "../core/dom.js";
import { count } from "../core/format.js";

export function lassoButton(stage) {
  const set = (on) => {
    stage.lassoOn = on;
    node.setAttribute("aria-pressed", String(on));
  };
  const press = () => {
    if (stage.chosen.size || stage.outline.length) stage.choose([]);
    set(node.getAttribute("aria-pressed") !== "true");
  };
  const node = iconButton("lasso", "Select songs with the lasso", press, {
    id: "map-lasso",
    title: "Lasso (Shift + drag)",
    "aria-pressed": false,
  });
  return { node, set };
}

export function lassoBar(stage, { clear, actions }) {
  const node = h("section", { class: "map-picked", id: "map-picked", "aria-label": "Selected songs", hidden: true });
  const words = (text) => h("p", { class: "map-picked-words" }, text);

  function show() {
    const rows = [...stage.chosen];
    const drawn = stage.outline.length > 0;
    node.hidden = !rows.length && !drawn && !stage.gestures.lasso;
    if (node.hidden) return replace(node);
    if (!rows.length && !drawn) return replace(node, icon("lasso"), words("Draw around the songs you want to select."));
    const close = iconButton("close", "Clear selection", clear);
    announce(rows.length ? `${count(rows.length, "song")} selected` : "No songs selected");
    replace(node, rows.length ? actions(rows) : words("No songs inside. Draw around some dots."), close);
  }

  for (const name of ["chosen", "lasso"]) stage.addEventListener(name, show);
  return node;
}
