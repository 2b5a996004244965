// Rows that can be moved: dragged by a handle (mouse, pen, finger), or with Alt and the arrow keys.
//
//   dragRow(event, list, {scroller, signal, drop(from, to), cancel()})
//       event     the pointerdown on the handle inside a <li> of `list`
//       scroller  what scrolls when the row comes near its edge; the page by default
//       drop      called when it was let go elsewhere; cancel: where it was, or Esc was pressed
//   arrowStep(event) -> -1, 1 or 0: where Alt and an arrow key move a row

import { onEscape } from "../core/escape.js";

const EDGE_PIXELS = 70; // a row this close to the edge scrolls

export const arrowStep = (event) => (event.altKey && { ArrowUp: -1, ArrowDown: 1 }[event.key]) || 0;

export function dragRow(event, list, { scroller = null, signal, drop, cancel }) {
  if (event.button) return;
  event.preventDefault();
  const handle = event.currentTarget;
  const row = handle.closest("li");
  const from = [...list.children].indexOf(row);
  const life = new AbortController();
  const options = { signal: signal ? AbortSignal.any([life.signal, signal]) : life.signal };
  let y = event.clientY;
  let frame = 0;
  handle.setPointerCapture(event.pointerId);
  row.classList.add("is-dragged");
  const middle = (other) => {
    const box = other.getBoundingClientRect();
    return box.top + box.height / 2;
  };
  const settle = () => {
    // the other rows move: moving the dragged one would lose the pointer capture
    for (let next = row.nextElementSibling; next && y > middle(next); next = row.nextElementSibling) row.before(next);
    for (let last = row.previousElementSibling; last && y < middle(last); last = row.previousElementSibling)
      row.after(last);
  };
  const edges = () => {
    if (!scroller) return [EDGE_PIXELS, innerHeight - EDGE_PIXELS - 80];
    const box = scroller.getBoundingClientRect();
    return [box.top + EDGE_PIXELS / 2, box.bottom - EDGE_PIXELS / 2];
  };
  const scroll = () => {
    const [top, bottom] = edges();
    const past = y < top ? y - top : Math.max(0, y - bottom);
    if (past) {
      (scroller || window).scrollBy(0, past / 5);
      settle();
    }
    frame = requestAnimationFrame(scroll);
  };
  const end = (keep) => {
    life.abort();
    release();
    cancelAnimationFrame(frame);
    row.classList.remove("is-dragged");
    const to = [...list.children].indexOf(row);
    if (keep && to !== from) drop(from, to);
    else cancel();
  };
  const release = onEscape(() => end(false));
  options.signal.addEventListener("abort", release);
  handle.addEventListener(
    "pointermove",
    (moved) => {
      y = moved.clientY;
      settle();
    },
    options,
  );
  handle.addEventListener("pointerup", () => end(true), options);
  handle.addEventListener("pointercancel", () => end(false), options);
  frame = requestAnimationFrame(scroll);
}
