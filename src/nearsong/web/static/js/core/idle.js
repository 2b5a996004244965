// What can wait until the browser has nothing more urgent to do, such as drawing.
//
//   whenIdle(run)      runs soon, at the latest after MAX_MILLISECONDS
//   nextPaint() -> promise: what was drawn can be seen; a hidden page is never painted, and does not wait for it
//   styled() -> promise: the style sheets are there, so that what is measured is what will be seen

const MAX_MILLISECONDS = 500;
const HIDDEN_MILLISECONDS = 250;

export const whenIdle = (run) =>
  globalThis.requestIdleCallback // some browsers have none
    ? requestIdleCallback(run, { timeout: MAX_MILLISECONDS })
    : setTimeout(run, 50);

export const nextPaint = () =>
  Promise.race([
    new Promise((done) => requestAnimationFrame(() => setTimeout(done))),
    new Promise((done) => setTimeout(done, HIDDEN_MILLISECONDS)),
  ]);

const once = (what, ...names) =>
  new Promise((done) => {
    for (const name of names) what.addEventListener(name, done, { once: true });
  });

/** A script that loads on its own may run before them. */
export async function styled() {
  const missing = [...document.querySelectorAll("link[rel=stylesheet]")].filter((one) => !one.sheet);
  if (!missing.length || document.readyState === "complete") return;
  await Promise.race([Promise.all(missing.map((one) => once(one, "load", "error"))), once(window, "load")]);
}
