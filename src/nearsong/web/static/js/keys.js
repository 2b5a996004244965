// Keys that work on every view, and the list of them.
//
//   startKeys(): space plays and pauses, / goes to the search, ? shows the list, N and P next and previous, ...
//   showHelp(): opens the list

import { h, iconButton, replace } from "./dom.js";
import { player } from "./player.js";

const HELP = [
  [["Space"], "play or pause"],
  [["N"], "next song"],
  [["P"], "previous song, or back to its start"],
  [["Shift", "→"], "ten seconds on"],
  [["Shift", "←"], "ten seconds back"],
  [["M"], "sound off and on"],
  [["Q"], "show what comes next"],
  [["/"], "search the library"],
  [["↑"], "or", ["↓"], "from row to row in a list"],
  [["Enter"], "play the row, or follow the link"],
  [["Esc"], "close what is open"],
  [["?"], "this list"],
];

const WRITES = "input:not([type=range], [type=checkbox], [type=radio], [type=button], [type=file]), textarea, select, [contenteditable]";
const PRESSES = "button, summary, input:not([type=range]), [role=menuitem], [role=option], [role=tab]"; // what space presses; a link it does not

const KEYS = {
  "/": search,
  "?": showHelp,
  n: () => player.next(),
  p: () => player.previous(),
  m: () => { player.muted = !player.muted; },
  q: () => document.getElementById("queue-toggle")?.click(),
};

export function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const { target } = event;
    if (target.closest?.(WRITES) || document.querySelector("dialog[open]")) return;
    if (event.key === " ") {
      if (target.closest?.(PRESSES) || !player.current) return; // space presses what has the focus
      player.toggle();
    } else if (event.shiftKey && (event.key === "ArrowRight" || event.key === "ArrowLeft") && player.current && !target.closest?.("input, canvas")) {
      player.seek(player.position + (event.key === "ArrowRight" ? 10 : -10));
    } else {
      const run = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!run) return;
      run();
    }
    event.preventDefault();
  });
}

function search() {
  const field = document.getElementById("search");
  if (field) {
    field.focus();
    field.select();
  } else location.hash = "#/?focus=search";
}

export function showHelp() {
  const dialog = document.getElementById("help");
  const close = () => dialog.close();
  const keys = (names) => names.map((name, i) => [i > 0 && " + ", h("kbd", {}, name)]);
  replace(
    dialog,
    h("div", { class: "dialog-head" }, h("h2", { id: "help-title" }, "Keys"),
      iconButton("close", "Close", close)),
    h("dl", { class: "key-list" }, HELP.map((line) => h("div", {},
      h("dt", {}, line.slice(0, -1).map((part) => (Array.isArray(part) ? keys(part) : ` ${part} `))), h("dd", {}, line.at(-1))))),
  );
  dialog.addEventListener("click", (event) => event.target === dialog && close(), { once: true });
  if (!dialog.open) dialog.showModal();
}
