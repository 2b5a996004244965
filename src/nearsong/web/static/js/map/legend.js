// The legend: a button for each class, which highlights its songs.

import { h, replace } from "../core/dom.js";
import { number } from "../core/format.js";
import { kinds } from "./colours.js";

export function legend(stage) {
  const rows = h("ul", { class: "map-classes" });
  const select = h(
    "select",
    { id: "map-colour", class: "select", on: { change: () => stage.setKind(select.value) } },
    kinds(stage.columns).map(({ value, name }) => h("option", { value }, name)),
  );
  const details = h(
    "details",
    { class: "map-legend" },
    h("summary", {}, "Colours"),
    h("div", { class: "map-colouring" }, h("label", { for: "map-colour" }, "Colour by"), select),
    rows,
  );

  function draw() {
    const at = [...rows.querySelectorAll("button")].indexOf(document.activeElement);
    replace(
      rows,
      stage.colours.classes.map((entry, c) => entry.count > 0 && h("li", {}, button(entry, c))),
    );
    if (at >= 0) rows.querySelectorAll("button")[at]?.focus(); // keep the focus after redrawing
  }

  function button(entry, c) {
    const chosen = stage.focus?.at === c;
    return h(
      "button",
      {
        type: "button",
        class: "map-class",
        "aria-pressed": chosen,
        on: { click: () => stage.setFocus(chosen ? null : c) },
      },
      h("span", { class: "map-dot", vars: { "--dot": entry.colour } }),
      h("span", { class: "map-class-name", dir: "auto" }, entry.name),
      h("span", { class: "map-class-count" }, number(entry.count)),
    );
  }

  stage.addEventListener("colours", draw);
  return details;
}
