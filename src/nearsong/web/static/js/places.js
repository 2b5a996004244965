// Back and reload find the place on the page where one was. Every entry of the browser's history has a name, history.state.id;
// history.state also holds how far its page was scrolled (y) and what its view adds.
//
//   keepPlaces(): writes the place down as one scrolls, before anything is pressed, and before the page is closed
//   arrive() -> {y, ...}             called when the address has changed: notes where one was, and tells what is known of where one is
//   place() -> {y, ...}              what is known of where one is
//   readdress(hash)                  gives where one is another address; its place is not known any more
//   keepMore(describe) -> stop()     what a view adds to it: describe() -> {name: value}
//   returnTo(y, signal): goes there as soon as the view is long enough; whoever scrolls first wins

const REST = 120; // milliseconds that the page must rest
const PATIENCE = 4000; // milliseconds for what is still loading

const nothing = () => ({});
const left = new Map(); // id -> place; an entry one has gone back from cannot be written to any more
let [more, timer, here, made] = [nothing, 0, "", 0];

const newId = () => `${Date.now().toString(36)}-${(made += 1)}`;
const now = () => ({ id: here, y: scrollY, ...more() });

function write() {
  clearTimeout(timer);
  if (here && history.state?.id === here) history.replaceState(now(), "");
}

export function keepPlaces() {
  history.scrollRestoration = "manual"; // the browser would scroll before there is anything
  window.addEventListener("scroll", () => {
    clearTimeout(timer);
    timer = setTimeout(write, REST);
  }, { passive: true });
  window.addEventListener("pointerdown", write, { capture: true, passive: true });
  window.addEventListener("keydown", (event) => event.key === "Enter" && write(), { capture: true });
  window.addEventListener("pagehide", write);
}

export function arrive() {
  clearTimeout(timer);
  if (here) left.set(here, now()); // what is on the page still is the view that one leaves
  if (!history.state?.id) history.replaceState({ ...history.state, id: newId() }, "");
  here = history.state.id;
  return place();
}

export const place = () => left.get(here) || history.state || {};

export function readdress(hash) {
  left.delete(here);
  history.replaceState({ id: here }, "", hash);
}

export function keepMore(describe) {
  more = describe;
  return () => {
    if (more === describe) more = nothing;
  };
}

export function returnTo(y, signal) {
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
  setTimeout(() => life.abort(), PATIENCE);
  grows.observe(document.getElementById("view"));
  there();
}
