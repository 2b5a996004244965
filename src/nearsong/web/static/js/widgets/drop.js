// A file dropped anywhere on the page goes to "Find by sound".
//
//   startDrop(app)               accepts files on the whole window
//   takeDropped() -> File|null   the dropped file, once
//   dropped: EventTarget, "file" when the listen view is already open

import { h, icon } from "../core/dom.js";

export const dropped = new EventTarget();

let waiting = null;
let depth = 0;

export function takeDropped() {
  const file = waiting;
  waiting = null;
  return file;
}

const brings = (event) => [...(event.dataTransfer?.types || [])].includes("Files");

export function startDrop(app) {
  const veil = h(
    "div",
    { class: "drop-veil", "aria-hidden": true, hidden: true },
    h("div", {}, icon("wave"), h("p", {}, "Drop to find similar songs")),
  );
  document.body.append(veil);
  const show = (on) => {
    veil.hidden = !on;
    if (!on) depth = 0;
  };
  window.addEventListener("dragenter", (event) => {
    if (!brings(event)) return;
    depth += 1;
    show(true);
  });
  window.addEventListener("dragleave", (event) => {
    if (!brings(event)) return;
    depth -= 1;
    if (depth <= 0) show(false);
  });
  window.addEventListener("dragover", (event) => brings(event) && event.preventDefault());
  window.addEventListener("drop", (event) => {
    show(false);
    if (!brings(event) || event.defaultPrevented) return;
    event.preventDefault(); // or the browser would open the file
    const [file] = event.dataTransfer.files;
    if (!file) return;
    waiting = file;
    if (location.hash === "#/listen") dropped.dispatchEvent(new Event("file"));
    else app.go("#/listen");
  });
}
