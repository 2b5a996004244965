// Restores the scroll position on back and reload. Every entry of the browser's history has an id (history.state.id);
// history.state also holds the scroll position (y) and what its view adds.
//
//   rememberScroll(): stores the position while scrolling, before anything is pressed, and before the page is closed
//   enterPage() -> {y, ...}          after navigation: stores the state of the old entry, returns the new one's
//   pageState() -> {y, ...}          the state of the current entry
//   replaceAddress(hash)             changes the address of the current entry and forgets its state
//   addState(describe) -> stop()     what a view adds to the state: describe() -> {name: value}
//   restoreScroll(y, signal): scrolls there as soon as the view is long enough, unless the user scrolls first

const IDLE_MILLISECONDS = 120; // without scrolling before the position is stored
const TIMEOUT_MILLISECONDS = 4000; // for content that is still loading

const nothing = () => ({});
const left = new Map(); // id -> state; an entry that was left by "back" can no longer be written to
let more = nothing;
let timer = 0;
let here = "";
let made = 0;

const newId = () => `${Date.now().toString(36)}-${(made += 1)}`;
const now = () => ({ id: here, y: scrollY, ...more() });

function write() {
  clearTimeout(timer);
  if (here && history.state?.id === here) history.replaceState(now(), "");
}

export function rememberScroll() {
  history.scrollRestoration = "manual"; // the browser would scroll before the view is drawn
  window.addEventListener(
    "scroll",
    () => {
      clearTimeout(timer);
      timer = setTimeout(write, IDLE_MILLISECONDS);
    },
    { passive: true },
  );
  window.addEventListener("pointerdown", write, { capture: true, passive: true });
  window.addEventListener("keydown", (event) => event.key === "Enter" && write(), { capture: true });
  window.addEventListener("pagehide", write);
}

export function enterPage() {
  clearTimeout(timer);
  if (here) left.set(here, now()); // the page still shows the view that is left
  if (!history.state?.id) history.replaceState({ ...history.state, id: newId() }, "");
  here = history.state.id;
  return pageState();
}

export const pageState = () => left.get(here) || history.state || {};

export function replaceAddress(hash) {
  left.delete(here);
  history.replaceState({ id: here }, "", hash);
}

export function addState(describe) {
  more = describe;
  return () => {
    if (more === describe) more = nothing;
  };
}

export function restoreScroll(y, signal) {
  if (!y || signal.aborted) return;
  const life = new AbortController();
  const there = () => {
    if (signal.aborted) return life.abort();
    scrollTo(0, y);
    if (scrollY >= y - 2) life.abort();
  };
  const grows = new ResizeObserver(there);
  life.signal.addEventListener("abort", () => grows.disconnect());
  for (const name of ["wheel", "touchmove", "keydown", "pointerdown"]) {
    window.addEventListener(name, () => life.abort(), { once: true, passive: true, signal: life.signal });
  }
  setTimeout(() => life.abort(), TIMEOUT_MILLISECONDS);
  grows.observe(document.getElementById("view"));
  there();
}
