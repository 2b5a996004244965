// secret(label, text, more) -> a note that shows a token or a password, with a button that copies it

import { button, h, icon } from "../../core/dom.js";
import { say } from "../../core/toasts.js";

export function secret(label, text, more = null) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      say("Copied.");
    } catch {
      say("The browser does not allow copying here. Select the text and copy it.");
    }
  };
  return h(
    "div",
    { class: "note good", role: "status" },
    icon("check"),
    h(
      "div",
      { class: "secret" },
      h("p", {}, `${label}: `, h("code", {}, text)),
      more && h("p", {}, more),
      h("div", {}, button("Copy", copy, { class: "button quiet small", icon: "copy" })),
    ),
  );
}
