// The theme: as the system has it, light or dark. A plain script in the head, so that nothing is painted in the wrong colours.
//
//   <html data-theme="light|dark">: the colours there are; every [data-theme-toggle] goes through the three wishes.
//   document fires "themechange" when the colours change, for what is painted by hand (canvas).

(() => {
  "use strict";
  const KEY = "nearsong.theme";
  const ORDER = ["system", "light", "dark"];
  const NAMES = { system: "as the system", light: "light", dark: "dark" };
  const root = document.documentElement;
  const night = matchMedia("(prefers-color-scheme: dark)");

  const read = () => {
    try {
      const kept = localStorage.getItem(KEY);
      return ORDER.includes(kept) ? kept : "system";
    } catch { return "system"; }
  };

  let theme = read();

  const label = () => {
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      button.setAttribute("aria-label", `Colours: ${NAMES[theme]}`);
      button.title = `Colours: ${NAMES[theme]}`;
      button.dataset.theme = theme;
    }
  };

  /** The browser's own bars (on phones) take the colour of the theme that is shown, not of the system's. */
  const tint = (shown) => {
    for (const bar of document.querySelectorAll("meta[name=theme-color]")) {
      bar.dataset.theme ||= bar.media.includes("dark") ? "dark" : "light";
      bar.media = bar.dataset.theme === shown ? "all" : "not all";
    }
  };

  const apply = () => {
    const shown = theme === "system" ? (night.matches ? "dark" : "light") : theme;
    root.dataset.theme = shown;
    tint(shown);
    label();
    document.dispatchEvent(new Event("themechange"));
  };

  apply();
  document.addEventListener("DOMContentLoaded", label);
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-theme-toggle]")) return;
    theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
    try { localStorage.setItem(KEY, theme); } catch { /* a browser that keeps nothing */ }
    apply();
  });
  window.addEventListener("storage", (event) => {
    if (event.key !== KEY) return;
    theme = read();
    apply();
  });
  night.addEventListener("change", apply);
})();
