// toggle(label, checked, change) -> a labelled switch; change(checked) may fail, then the switch goes back
// busy(control, work): disables a button while work runs, and shows what went wrong; the focus comes back to it

import { h } from "../../core/dom.js";
import { sayError } from "../../core/toasts.js";

let number = 0;

export function toggle(label, checked, change, { id = `switch-${(number += 1)}`, ...props } = {}) {
  const input = h("input", { type: "checkbox", role: "switch", id, checked, ...props });
  input.addEventListener("change", async () => {
    input.disabled = true;
    try {
      await change(input.checked);
    } catch (error) {
      input.checked = !input.checked;
      sayError(error);
    }
    input.disabled = false;
    if (input.isConnected) input.focus();
  });
  return h("label", { class: "check", for: id }, input, h("span", {}, label));
}

export async function busy(control, work) {
  const hadFocus = document.activeElement === control;
  control.disabled = true;
  try {
    await work();
  } catch (error) {
    sayError(error);
  }
  control.disabled = false;
  if (hadFocus && document.activeElement === document.body) control.focus({ preventScroll: true });
}
