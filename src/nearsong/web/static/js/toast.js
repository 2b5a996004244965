// Short messages at the edge of the page, read out by screen readers.
//
//   say(text, {kind: "info" | "good" | "bad", seconds, action: {label, run}}) -> close()
//       three at a time at most; on a phone one, since each covers rows; the same words again take the place of the first
//   sayError(error): what went wrong in the service's own words; a cancelled request says nothing.

import { h, icon, iconButton } from "./dom.js";
import { isAbort } from "./api.js";

const ICONS = { info: "info", good: "check", bad: "warning" };
const MOST = 3;
const narrow = matchMedia("(max-width: 720px)");

export function say(text, { kind = "info", seconds = kind === "bad" ? 9 : 5, action } = {}) {
  const region = document.getElementById("toasts");
  if (!region) return () => {};
  let timer = 0;
  const close = () => {
    clearTimeout(timer);
    box.remove();
  };
  const box = h(
    "div", { class: `toast toast-${kind}` }, icon(ICONS[kind] || "info"), h("p", {}, text),
    action && h("button", { class: "button quiet small", type: "button", on: { click: () => { close(); action.run(); } } }, action.label),
    iconButton("close", "Close this message", close),
  );
  [...region.children].find((other) => other.querySelector("p").textContent === text)?.remove();
  while (region.children.length >= (narrow.matches ? 1 : MOST)) region.firstElementChild.remove();
  region.append(box);
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(close, seconds * 1000);
  };
  for (const name of ["mouseenter", "focusin"]) box.addEventListener(name, () => clearTimeout(timer));
  for (const name of ["mouseleave", "focusout"]) box.addEventListener(name, wait);
  wait();
  return close;
}

export function sayError(error) {
  if (isAbort(error)) return;
  if (error?.name !== "ApiError") console.error(error);
  say(error?.detail || "Something went wrong in the page. Loading it again may help.", { kind: "bad" });
}
