// Keyboard shortcuts of every view, and the list of them.
//
//   startKeys(player): handles the shortcuts
//   showHelp(): opens the list

import { h, iconButton, replace } from "./dom.js";

const HELP = [
  [["Space"], "Play or pause"],
  [["N"], "Next song"],
  [["P"], "Previous song, or back to the start"],
  [["Shift", "→"], "10 seconds forward"],
  [["Shift", "←"], "10 seconds back"],
  [["M"], "Mute"],
  [["H"], "Heart the song that plays"],
  [["Q"], "Show or hide the queue"],
  [["F"], "Now playing, large"],
  [["S"], "Shuffle"],
  [["R"], "Repeat: off, all, one"],
  [["Alt", "↑"], "or", ["↓"], "Move the row of a queue or playlist"],
  [["/"], "Search the library"],
  [["↑"], "or", ["↓"], "Next or previous row in a list"],
  [["Enter"], "Play the song or open the link"],
  [["Esc"], "Close what was opened last"],
  [["?"], "This list"],
];

const WRITES =
  "input:not([type=range], [type=checkbox], [type=radio], [type=button], [type=file]), " +
  "textarea, select, [contenteditable]";
// activated by space, unlike links
const PRESSES = "button, summary, input:not([type=range]), [role=menuitem], [role=option], [role=tab]";

const actions = (player) => ({
  "/": search,
  "?": showHelp,
  n: () => player.next(),
  p: () => player.previous(),
  m: () => {
    player.muted = !player.muted;
  },
  h: () => document.getElementById("player-heart")?.click(),
  q: () => document.getElementById("queue-toggle")?.click(),
  f: () => document.getElementById("open-now-playing")?.click(),
  s: () => document.getElementById("shuffle")?.click(),
  r: () => document.getElementById("repeat")?.click(),
});

export function startKeys(player) {
  const keys = actions(player);
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const { target } = event;
    if (target.closest?.(WRITES) || document.querySelector("dialog[open]")) return;
    if (event.key === " ") {
      if (target.closest?.(PRESSES) || !player.current) return; // space activates the focused control
      player.toggle();
    } else if (
      event.shiftKey &&
      (event.key === "ArrowRight" || event.key === "ArrowLeft") &&
      player.current &&
      !target.closest?.("input, canvas")
    ) {
      player.seek(player.position + (event.key === "ArrowRight" ? 10 : -10));
    } else {
      const run = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!run) return;
      run();
    }
    event.preventDefault();
  });
}

function search() {
  const close = document.getElementById("close-now-playing");
  if (close?.offsetParent) {
    // the large view covers the field, and closes by going back
    window.addEventListener("popstate", () => setTimeout(search), { once: true });
    return close.click();
  }
  const field = document.getElementById("search");
  if (field) {
    field.focus();
    field.select();
  } else location.hash = "#/library?focus=search";
}

export function showHelp() {
  const dialog = document.getElementById("help");
  const close = () => dialog.close();
  const keys = (names) => names.map((name, i) => [i > 0 && " + ", h("kbd", {}, name)]);
  replace(
    dialog,
    h(
      "div",
      { class: "dialog-head" },
      h("h2", { id: "help-title" }, "Keyboard shortcuts"),
      iconButton("close", "Close", close),
    ),
    h(
      "dl",
      { class: "key-list" },
      HELP.map((line) =>
        h(
          "div",
          {},
          h(
            "dt",
            {},
            line.slice(0, -1).map((part) => (Array.isArray(part) ? keys(part) : ` ${part} `)),
          ),
          h("dd", {}, line.at(-1)),
        ),
      ),
    ),
  );
  dialog.addEventListener("click", (event) => event.target === dialog && close(), { once: true });
  if (!dialog.open) dialog.showModal();
}
