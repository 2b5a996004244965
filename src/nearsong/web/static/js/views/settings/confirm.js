// confirmed({title, words, action, danger, extra}) -> Promise of whether the question was answered with yes
//   words: a text or several; extra: a node below them; Esc, a click beside the dialog and "Cancel" mean no
// dialog(title, ...content) -> an open <dialog> that removes itself when it is closed

import { button, h, iconButton } from "../../core/dom.js";

export function dialog(title, ...content) {
  const box = h("dialog", { class: "dialog settings-dialog", "aria-labelledby": "dialog-title" });
  box.append(
    h(
      "div",
      { class: "dialog-head" },
      h("h2", { id: "dialog-title" }, title),
      iconButton("close", "Close", () => box.close()),
    ),
    h("div", { class: "stack" }, content),
  );
  box.addEventListener("click", (event) => event.target === box && box.close());
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  return box;
}

export function confirmed({ title, words, action, danger = true, extra = null }) {
  return new Promise((answer) => {
    let yes = false;
    const done = (value) => {
      yes = value;
      box.close();
    };
    const box = dialog(
      title,
      [words].flat().map((text) => h("p", {}, text)),
      extra,
      h(
        "div",
        { class: "cluster dialog-actions" },
        button("Cancel", () => done(false), { class: "button quiet", autofocus: true }),
        button(action, () => done(true), { class: danger ? "button bad" : "button" }),
      ),
    );
    box.addEventListener("close", () => answer(yes));
  });
}
