// The page: navigation, views, the banner when the service is gone. Views get `app`:
//
//   app.status        what GET /status last said, or null        app.refreshStatus() -> status (fires "status" on app.events)
//   app.go(hash)      goes to another view                       app.title(text) sets the window's title
//   app.signal        aborted when the view is left              app.fail(error) shows an error in place of the view
//   app.heading(text, {lead, actions}) -> the view's head with its <h1>, which gets the focus after a navigation

import { get, isAbort, link } from "./api.js";
import { h, icon, replace } from "./dom.js";
import { startDrop } from "./drop.js";
import { showHelp, startKeys } from "./keys.js";
import { startPlayerBar } from "./player_bar.js";
import { rememberPlayer } from "./player_memory.js";
import { notePlays } from "./plays.js";
import { arrive, keepPlaces, returnTo } from "./places.js";
import { LOAD, VIEWS, parse } from "./router.js";

const root = document.getElementById("view");
const banner = document.getElementById("link-banner");
const RETRY = [1000, 2000, 4000, 8000, 15000]; // milliseconds between questions to a service that is gone

let [leave, controller, first, visit, missed] = [null, new AbortController(), true, 0, false];

const app = {
  status: null,
  events: new EventTarget(),
  get signal() { return controller.signal; },
  go(hash) {
    if (location.hash === hash) route();
    else location.hash = hash;
  },
  title(text) {
    document.title = text ? `${text} · nearsong` : "nearsong";
  },
  heading(text, { lead, actions } = {}) {
    return h("div", { class: "view-head" },
      h("div", {}, h("h1", { tabindex: "-1" }, text), lead && h("p", { class: "lead" }, lead)),
      actions && h("div", { class: "cluster" }, actions));
  },
  async refreshStatus() {
    app.status = await get("/status");
    app.events.dispatchEvent(new Event("status"));
    return app.status;
  },
  fail(error) {
    if (isAbort(error)) return;
    if (error?.type?.endsWith("empty-library") && parse(location.hash)?.name !== "library") return app.go("#/"); // which teaches what to do
    if (error?.name !== "ApiError") console.error(error);
    const [missing, silent, lists] = [error?.status === 404, error?.status === 0, location.hash.startsWith("#/playlists/")];
    const words = missing ? "This is not here" : silent ? "No answer just now" : "That did not work";
    const again = h("button", { class: "button", type: "button", on: { click: route } }, icon("refresh"), "Try again");
    app.title(words);
    replace(root, h("div", { class: "empty is-failure" }, icon(missing ? "search" : "warning"),
      h("h1", { tabindex: "-1" }, words),
      h("p", { class: "muted" }, error?.detail || "Something went wrong in the page."),
      h("div", { class: "cluster" },
        !missing && again, h("a", { class: missing ? "button" : "button quiet", href: lists ? "#/playlists" : "#/" }, lists ? "To the playlists" : "To the library"))));
  },
};

async function route() {
  const [found, { y }] = [parse(location.hash), arrive()];
  controller.abort();
  controller = new AbortController();
  const [{ signal }, mine] = [controller, (visit += 1)];
  try { leave?.(); } catch (error) { console.error(error); }
  leave = null;
  mark(found?.name);
  if (!found) return app.fail({ name: "ApiError", status: 404, detail: "No view has this address." });
  const waits = setTimeout(() => root.setAttribute("aria-busy", "true"), 150);
  try {
    const view = await load(found.name);
    if (signal.aborted) return;
    scrollTo(0, 0);
    const clean = await view.show(root, found.params, app);
    if (mine === visit) returnTo(y, signal);
    if (mine === visit) leave = clean;
    else clean?.();
  } catch (error) {
    if (!signal.aborted) app.fail(error);
  } finally {
    clearTimeout(waits);
    if (mine === visit) {
      root.removeAttribute("aria-busy");
      settle();
    }
  }
}

/** A view's module; where it cannot be loaded the service is asked, and what it says (or that it is silent) is the error. */
async function load(name) {
  try {
    return await LOAD[name]();
  } catch (error) {
    try {
      await get("/health");
    } catch (silent) {
      missed = true;
      throw silent;
    }
    if (missed) location.reload(); // some browsers never ask again for a module that did not come once
    throw error;
  }
}

function settle() {
  if (!first) root.querySelector("h1")?.focus({ preventScroll: true }); // a reader who navigated hears where they are
  first = false;
}

function mark(name) {
  const shown = name === "song" ? "library" : name;
  for (const item of document.querySelectorAll("#nav-list a")) {
    if (item.dataset.view === shown) item.setAttribute("aria-current", "page");
    else item.removeAttribute("aria-current");
  }
}

function drawShell() {
  replace(document.getElementById("nav-list"), VIEWS.map((view) => h("li", {},
    h("a", { href: view.hash, dataset: { view: view.name } }, icon(view.icon),
      h("span", { class: "nav-long" }, view.label), h("span", { class: "nav-short", "aria-hidden": true }, view.short)))));
  const toggle = document.getElementById("theme-toggle");
  toggle.append(icon("system"), icon("sun"), icon("moon"));
  const help = document.getElementById("help-button");
  help.append(icon("help"));
  help.addEventListener("click", showHelp);
  document.querySelector(".skip-link").addEventListener("click", (event) => {
    event.preventDefault(); // the # belongs to the views
    (root.querySelector("h1") || root).focus();
  });
}

function watchLink() {
  let timer = 0;
  const ask = (turn) => {
    clearTimeout(timer);
    timer = setTimeout(() => get("/health").catch(() => ask(turn + 1)), RETRY[Math.min(turn, RETRY.length - 1)]);
  };
  link.addEventListener("change", () => {
    banner.hidden = link.up;
    if (link.up) {
      clearTimeout(timer);
      app.refreshStatus().catch(() => {});
      if (root.querySelector(".is-failure")) route(); // what failed while it was gone may work now
      return;
    }
    replace(banner, icon("warning"), h("p", {}, "nearsong does not answer just now. Is it still running? The page tries again by itself."),
      h("button", { class: "button quiet small", type: "button", on: { click: () => ask(0) } }, "Try now"));
    ask(0);
  });
}

drawShell();
watchLink();
startPlayerBar();
rememberPlayer();
notePlays(app);
keepPlaces();
startKeys();
startDrop(app);
window.addEventListener("hashchange", route);
app.refreshStatus().catch(() => {});
route();
