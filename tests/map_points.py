"""Where the songs of a map are on the screen, as a mouse finds them."""

from playwright.sync_api import Page

CANVAS = "#map-canvas"

EVERYWHERE = """(step) => {
  const canvas = document.getElementById("map-canvas"), tip = document.querySelector(".map-tip");
  const box = canvas.getBoundingClientRect(), found = {};
  const move = (clientX, clientY) => canvas.dispatchEvent(
    new PointerEvent("pointermove", { clientX, clientY, pointerType: "mouse", bubbles: true }));
  for (let y = box.top + 2; y < box.bottom; y += step) {
    for (let x = box.left + 2; x < box.right; x += step) {
      move(x, y);
      if (tip.hidden) continue;
      const at = (found[tip.querySelector("strong").textContent] ??= [0, 0, 0]);
      at[0] += x; at[1] += y; at[2] += 1;
    }
  }
  return Object.fromEntries(Object.entries(found).map(([name, [x, y, n]]) => [name, [x / n, y / n]]));
}"""


def where(page: Page, step: float = 8) -> dict[str, tuple[float, float]]:
    """Return title -> pixel, as a mouse finds them that goes over every part of the map."""
    return page.evaluate(EVERYWHERE, step)
