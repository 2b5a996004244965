// Short messages at the edge of the page, announced by screen readers.
//
//   say(text, {kind: "info" | "good" | "bad", seconds, action: {label, run}}) -> close()
//       at most three at a time, one on a phone; a message with the same text replaces the earlier one
//   sayError(error): shows the error of the API; nothing for a cancelled request.

import { h, icon, iconButton } from "./dom.js";
import { isAbort } from "./api.js";

const ICONS = { info: "info", good: "check", bad: "warning" };
const MAX_TOASTS = 3;
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
    "div",
    { class: `toast toast-${kind}` },
    icon(ICONS[kind] || "info"),
    h("p", {}, text),
    action &&
      h(
        "button",
        {
          class: "button quiet small",
          type: "button",
          on: {
            click: () => {
              close();
              action.run();
            },
          },
        },
        action.label,
      ),
    iconButton("close", "Dismiss", close),
  );
  [...region.children].find((other) => other.querySelector("p").textContent === text)?.remove();
  while (region.children.length >= (narrow.matches ? 1 : MAX_TOASTS)) region.firstElementChild.remove();
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
  say(error?.detail || "Something went wrong. Reload the page and try again.", { kind: "bad" });
}
