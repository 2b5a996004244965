// A row of buttons that scrolls sideways: one tab stop, arrow keys between its buttons, a fade where more is hidden.
//
//   scrollRow(node) -> sync(): to be called after its children have changed
//   fadeEnds(node) -> fade(): only the fade, for a row of other things

const EDGE_PIXELS = 4; // the room that a focus ring needs at the ends hides nothing
const STEPS = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

// one for all rows: it measures them all before it changes one, or each would be laid out by itself
const sizes = new ResizeObserver((changes) => {
  const found = changes.map(({ target }) => [target, hiddenEnds(target)]);
  for (const [node, ends] of found) node.dataset.fade = ends;
});

function hiddenEnds(node) {
  const hidden = node.scrollWidth - node.clientWidth;
  const at = Math.abs(node.scrollLeft); // negative where text runs from right to left
  return [at > EDGE_PIXELS && "start", at < hidden - EDGE_PIXELS && "end"].filter(Boolean).join(" ");
}

export function fadeEnds(node) {
  node.classList.add("scroll-row");
  const fade = () => {
    node.dataset.fade = hiddenEnds(node);
  };
  node.addEventListener("scroll", fade, { passive: true });
  sizes.observe(node);
  return fade;
}

export function scrollRow(node) {
  const fade = fadeEnds(node);
  const controls = () => [...node.children].filter((one) => !one.hidden && !one.disabled);
  const stopAt = (stop) => controls().forEach((one) => (one.tabIndex = one === stop ? 0 : -1));

  function sync() {
    const all = controls();
    stopAt(
      all.find((one) => one === document.activeElement) || all.find((one) => one.ariaPressed === "true") || all[0],
    );
    fade();
  }

  node.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const all = controls();
    const at = all.indexOf(document.activeElement);
    if (at < 0) return;
    event.preventDefault();
    const to = all[Math.min(Math.max(at + step, 0), all.length - 1)];
    to.focus();
    to.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  node.addEventListener("focusin", (event) => stopAt(event.target));
  return sync;
}
