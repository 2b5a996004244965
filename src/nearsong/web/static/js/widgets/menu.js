// openMenu(button, items) -> a menu at a button: items [{icon, label, run}] or [{icon, label, href}]
//   returns add(items), which adds some at its end if it is still open

import { h, icon } from "../core/dom.js";
import { onEscape } from "../core/escape.js";

let shutMenu = null;

export function openMenu(button, items) {
  const again = button.getAttribute("aria-expanded") === "true";
  shutMenu?.();
  if (again) return () => {};
  const entryOf = (item) =>
    h(
      item.href ? "a" : "button",
      {
        class: "menu-item",
        role: "menuitem",
        tabindex: "-1",
        href: item.href,
        type: item.href ? null : "button",
        on: {
          click: () => {
            shut(true);
            item.run?.();
          },
        },
      },
      icon(item.icon || "right"),
      item.label,
    );
  const entries = items.map(entryOf);
  const menu = h(
    "div",
    { class: "menu", role: "menu", "aria-label": button.getAttribute("aria-label"), on: { keydown: keys } },
    entries,
  );
  const outside = (event) => menu.contains(event.target) || button.contains(event.target) || shut(false);
  const moved = (event) => menu.contains(event.target) || shut(false); // a long menu scrolls itself

  function shut(back) {
    release();
    menu.remove();
    button.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside, true);
    window.removeEventListener("resize", moved);
    window.removeEventListener("scroll", moved, true);
    window.removeEventListener("hashchange", moved);
    shutMenu = null;
    if (back) button.focus({ preventScroll: true });
  }

  function keys(event) {
    const here = entries.indexOf(document.activeElement);
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: -1 }[event.key];
    if (to !== undefined) entries.at(to % entries.length).focus();
    else if (event.key === "Tab") return shut(true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  document.body.append(menu);
  moveTo(menu, button);
  button.setAttribute("aria-expanded", "true");
  const release = onEscape(() => shut(true));
  shutMenu = () => shut(false);
  entries[0]?.focus({ preventScroll: true });
  document.addEventListener("pointerdown", outside, true);
  window.addEventListener("resize", moved);
  window.addEventListener("scroll", moved, true);
  window.addEventListener("hashchange", moved);
  return (more) => {
    if (!menu.isConnected) return;
    const added = more.map(entryOf);
    entries.push(...added);
    menu.append(...added);
    moveTo(menu, button);
  };
}

function moveTo(menu, button) {
  const at = button.getBoundingClientRect();
  const size = menu.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.right - size.width, innerWidth - size.width - 8));
  const below = at.bottom + size.height + 8 < innerHeight;
  menu.style.setProperty("left", `${left}px`);
  menu.style.setProperty("top", `${below ? at.bottom + 4 : Math.max(8, at.top - size.height - 4)}px`);
}
