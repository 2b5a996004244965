// The theme: system, light or dark. A plain script in the head, so that the first paint has the right colours.
//
//   <html data-theme="light|dark">: the theme shown; every [data-theme-toggle] cycles through the three settings.
//   document fires "themechange" when the theme changes, for canvases.

(() => {
  "use strict";
  const KEY = "nearsong.theme";
  const ORDER = ["system", "light", "dark"];
  const root = document.documentElement;
  const night = matchMedia("(prefers-color-scheme: dark)");

  const read = () => {
    try {
      const kept = localStorage.getItem(KEY);
      return ORDER.includes(kept) ? kept : "system";
    } catch {
      return "system";
    }
  };

  let theme = read();

  const label = () => {
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      button.setAttribute("aria-label", `Theme: ${theme}`);
      button.title = `Theme: ${theme}`;
      button.dataset.theme = theme;
    }
  };

  /** The browser's own bars (on phones) get the colour of the theme shown. */
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
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      /* a browser that keeps nothing */
    }
    apply();
  });
  window.addEventListener("storage", (event) => {
    if (event.key !== KEY) return;
    theme = read();
    apply();
  });
  night.addEventListener("change", apply);
})();
