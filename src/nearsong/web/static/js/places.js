// Back and reload find the place on the page where one was: history.state.y holds how far it was scrolled.
//
//   keepPlaces(): writes the place down as one scrolls, and before anything is pressed
//   keepMore(describe) -> stop()     what a view adds to it: describe() -> {name: value}, found in history.state again
//   returnTo(y, signal): goes there as soon as the view is long enough; whoever scrolls first wins

const REST = 120; // milliseconds that the page must rest
const PATIENCE = 4000; // milliseconds for what is still loading

const nothing = () => ({});
let [more, timer] = [nothing, 0];

function write() {
  clearTimeout(timer);
  history.replaceState({ y: scrollY, ...more() }, "");
}

export function keepPlaces() {
  history.scrollRestoration = "manual"; // the browser would scroll before there is anything
  window.addEventListener("scroll", () => {
    clearTimeout(timer);
    timer = setTimeout(write, REST);
  }, { passive: true });
  window.addEventListener("pointerdown", write, { capture: true, passive: true });
  window.addEventListener("keydown", (event) => event.key === "Enter" && write(), { capture: true });
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
