// The page: navigation, views, the banner while the service does not respond. Views get `app`:
//
//   app.status        the last GET /status, or null              app.refreshStatus() -> status; app.events: "status"
//   app.someStatus()  -> the last status, or the first one, which is on its way
//   app.go(hash)      goes to another view                       app.title(text) sets the window's title
//   app.signal        aborted when the view is left              app.fail(error) shows an error instead of the view
//   app.shown         promise: the first view can be seen, and what it does not need has its turn
//   app.heading(text, {lead, actions}) -> the head of a view with its <h1>, which is focused after navigation

import { forgetFirst, get, health, isAbort, link, signOut } from "./core/api.js";
import { button, h, icon, replace } from "./core/dom.js";
import { nextPaint, styled, whenIdle } from "./core/idle.js";
import { startDrop } from "./widgets/drop.js";
import { showHelp, startKeys } from "./core/keys.js";
import { openMenu } from "./widgets/menu.js";
import { player } from "./player/player.js";
import { startPlayerBar } from "./player/bar.js";
import { startMediaSession } from "./player/media_session.js";
import { rememberPlayer } from "./player/memory.js";
import { notePlays } from "./player/plays.js";
import { rememberRadio } from "./player/radio.js";
import { rememberSleep } from "./player/sleep.js";
import { enterPage, rememberScroll, restoreScroll } from "./core/scroll_memory.js";
import { LOAD, PARENTS, VIEWS, parse } from "./core/router.js";
import { skeleton } from "./widgets/skeleton.js";
import { startHearts } from "./songs/hearts.js";
import { sayError } from "./core/toasts.js";

const root = document.getElementById("view");
const banner = document.getElementById("link-banner");
const WAIT_MILLISECONDS = 150; // before a view that is not there yet is outlined
const RETRY_MILLISECONDS = [1000, 2000, 4000, 8000, 15000];

let leave = null;
let controller = new AbortController();
let first = true;
let visit = 0;
let missed = false;
let firstStatus = null;
let sayShown;

const app = {
  status: null,
  events: new EventTarget(),
  shown: new Promise((done) => (sayShown = () => nextPaint().then(() => whenIdle(done)))),
  get signal() {
    return controller.signal;
  },
  go(hash) {
    if (location.hash === hash) route();
    else location.hash = hash;
  },
  title(text) {
    document.title = text ? `${text} · nearsong` : "nearsong";
  },
  heading(text, { lead, actions } = {}) {
    return h(
      "div",
      { class: "view-head" },
      h("div", {}, h("h1", { tabindex: "-1" }, text), lead && h("p", { class: "lead" }, lead)),
      actions && h("div", { class: "cluster" }, actions),
    );
  },
  async someStatus() {
    return app.status || firstStatus || app.refreshStatus();
  },
  async refreshStatus() {
    app.status = await get("/status");
    app.events.dispatchEvent(new Event("status"));
    return app.status;
  },
  fail(error) {
    if (isAbort(error)) return;
    // home shows how to start
    if (error?.type?.endsWith("empty-library") && parse(location.hash)?.name !== "home") return app.go("#/");
    if (error?.name !== "ApiError") console.error(error);
    const missing = error?.status === 404;
    const silent = error?.status === 0;
    const lists = location.hash.startsWith("#/playlists/");
    const words = missing ? "Not found" : silent ? "nearsong is not responding" : "Something went wrong";
    const again = button("Try again", route, { icon: "refresh" });
    app.title(words);
    replace(
      root,
      h(
        "div",
        { class: "empty is-failure" },
        icon(missing ? "search" : "warning"),
        h("h1", { tabindex: "-1" }, words),
        h("p", { class: "muted" }, error?.detail || "Something went wrong."),
        h(
          "div",
          { class: "cluster" },
          !missing && again,
          h(
            "a",
            { class: missing ? "button" : "button quiet", href: lists ? "#/playlists" : "#/library" },
            lists ? "Go to playlists" : "Go to library",
          ),
        ),
      ),
    );
  },
};

async function route() {
  const found = parse(location.hash);
  const { y } = enterPage();
  controller.abort();
  controller = new AbortController();
  const { signal } = controller;
  const mine = (visit += 1);
  try {
    leave?.();
  } catch (error) {
    console.error(error);
  }
  leave = null;
  mark(found?.name);
  if (!found) return app.fail({ name: "ApiError", status: 404, detail: "This page does not exist." });
  const before = root.firstElementChild;
  const waits = setTimeout(() => wait(before), WAIT_MILLISECONDS);
  try {
    const [view] = await Promise.all([load(found.name), styled()]);
    if (signal.aborted) return;
    scrollTo(0, 0);
    const clean = await view.show(root, found.params, app);
    if (mine === visit) restoreScroll(y, signal);
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

/** Ask for the status once for the page and its first view; after a failure the view that needs it asks again. */
function askFirstStatus() {
  firstStatus = app.refreshStatus();
  firstStatus.catch(() => (firstStatus = null));
}

/** Say that a view is on its way; what was there before it gives way to an outline. */
function wait(before) {
  root.setAttribute("aria-busy", "true");
  if (root.firstElementChild === before) replace(root, skeleton("head", 1), skeleton("rows", 8));
}

/** The module of a view. If it cannot be loaded, the error is that of the service, if it has one. */
async function load(name) {
  try {
    return await LOAD[name]();
  } catch (error) {
    try {
      await health();
    } catch (silent) {
      missed = true;
      throw silent;
    }
    if (missed) location.reload(); // some browsers never retry a failed module
    throw error;
  }
}

function settle() {
  if (!first) root.querySelector("h1")?.focus({ preventScroll: true }); // so that a screen reader announces the view
  if (first) sayShown();
  first = false;
}

function mark(name) {
  const shown = PARENTS[name] || name;
  for (const item of document.querySelectorAll("#nav-list a, #account-link")) {
    if (item.dataset.view === shown) item.setAttribute("aria-current", "page");
    else item.removeAttribute("aria-current");
  }
  const isBehind = VIEWS.some((view) => view.name === shown && !view.tab);
  document.getElementById("nav-more").classList.toggle("is-current", isBehind);
}

function drawShell() {
  const behind = VIEWS.filter((view) => !view.tab).map((view) => ({ ...view, href: view.hash }));
  const more = h(
    "button",
    {
      id: "nav-more",
      type: "button",
      "aria-label": "More views",
      "aria-haspopup": "menu",
      "aria-expanded": false,
      on: { click: () => openMenu(more, behind) },
    },
    icon("more"),
    h("span", { class: "nav-short", "aria-hidden": true }, "More"),
  );
  replace(
    document.getElementById("nav-list"),
    VIEWS.map((view) =>
      h(
        "li",
        { class: view.tab ? null : "nav-rest" },
        h(
          "a",
          { href: view.hash, dataset: { view: view.name } },
          icon(view.icon),
          h("span", { class: "nav-long" }, view.label),
          h("span", { class: "nav-short", "aria-hidden": true }, view.short),
        ),
      ),
    ),
    h("li", { class: "nav-more" }, more),
  );
  const toggle = document.getElementById("theme-toggle");
  toggle.append(icon("system"), icon("sun"), icon("moon"));
  const help = document.getElementById("help-button");
  help.append(icon("help"));
  help.addEventListener("click", showHelp);
  const out = document.getElementById("sign-out");
  out.append(icon("leave"));
  out.addEventListener("click", () => signOut().catch(sayError));
  const account = document.getElementById("account-link");
  const whose = h("span", { class: "account-name" });
  account.append(icon("person"), whose);
  app.events.addEventListener("status", () => {
    const { has_login: hasLogin, listener } = app.status;
    out.hidden = !hasLogin;
    account.hidden = !hasLogin;
    whose.textContent = listener ?? "Listeners";
    account.ariaLabel = account.title = listener ? `Signed in as ${listener}` : "Listeners of this library";
  });
  document.querySelector(".skip-link").addEventListener("click", (event) => {
    event.preventDefault(); // the hash is the address of the view
    (root.querySelector("h1") || root).focus();
  });
}

/** The player is drawn when it has a song, else when the first view can be seen. */
function startPlayer() {
  const life = new AbortController();
  const start = () => {
    if (life.signal.aborted) return;
    life.abort();
    startPlayerBar();
    startMediaSession();
  };
  player.addEventListener("change", start, { signal: life.signal });
  app.shown.then(start);
}

function watchLink() {
  let timer = 0;
  const ask = (turn) => {
    clearTimeout(timer);
    timer = setTimeout(
      () => health().catch(() => ask(turn + 1)),
      RETRY_MILLISECONDS[Math.min(turn, RETRY_MILLISECONDS.length - 1)],
    );
  };
  link.addEventListener("change", () => {
    banner.hidden = link.up;
    if (link.up) {
      clearTimeout(timer);
      app.refreshStatus().catch(() => {});
      if (root.querySelector(".is-failure")) route(); // retry what failed during the outage
      return;
    }
    replace(
      banner,
      icon("warning"),
      h("p", {}, "nearsong is not responding. Retrying automatically."),
      button("Retry now", () => ask(0), { class: "button quiet small" }),
    );
    ask(0);
  });
}

askFirstStatus();
drawShell();
watchLink();
startPlayer();
rememberPlayer();
rememberRadio();
rememberSleep();
notePlays(app);
startHearts(app);
rememberScroll();
startKeys(player);
startDrop(app);
window.addEventListener("hashchange", forgetFirst);
window.addEventListener("hashchange", route);
route();
