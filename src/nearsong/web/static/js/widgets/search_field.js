// A field to search as one types: Esc and a button clear it, Enter does not wait.
//
//   searchField({label, placeholder, value, search, down}) -> {node, focus(), clear(), stop()}
//     search(text)   called a moment after the last key       down()  called by the arrow key that leaves the field
//     clear()        empties the field without a search        stop()  forgets a search that waits

import { h, icon, iconButton } from "../core/dom.js";

const WAIT_MILLISECONDS = 120; // without a key before the search

export function searchField({ label, placeholder, value, search, down = () => {} }) {
  let timer = 0;
  const stop = () => clearTimeout(timer);
  const now = () => {
    stop();
    search(field.value.trim());
  };
  const show = () => {
    wipe.hidden = !field.value;
    hint.hidden = Boolean(field.value);
  };
  const typed = () => {
    show();
    stop();
    timer = setTimeout(now, WAIT_MILLISECONDS);
  };
  const clear = () => {
    field.value = "";
    stop();
    show();
  };
  const keys = {
    Escape: () => {
      clear();
      typed();
    },
    ArrowDown: down,
    Enter: now,
  };
  const pressed = (event) => {
    if (!keys[event.key] || (event.key === "Escape" && !field.value)) return;
    event.preventDefault();
    keys[event.key]();
  };
  const field = h("input", {
    class: "input",
    id: "search",
    type: "search",
    placeholder,
    "aria-label": label,
    "aria-describedby": "result-count",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    enterkeyhint: "search",
    maxlength: 200,
    value,
    on: { input: typed, keydown: pressed },
  });
  const emptied = () => {
    clear();
    now();
    field.focus();
  };
  const wipe = iconButton("close", "Clear search", emptied);
  const hint = h("kbd", { "aria-hidden": true }, "/");
  show();
  return {
    node: h("div", { class: "search" }, field, icon("search"), hint, wipe),
    focus: () => field.focus(),
    clear,
    stop,
  };
}
