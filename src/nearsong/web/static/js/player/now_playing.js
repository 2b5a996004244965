// The large view of what plays: cover, names, all controls, what comes next. Fills the screen.
//
//   startNowPlaying()               toggleNowPlaying(on): opens or closes it; Esc, "back" and a swipe down close it

import { h, iconButton, replace } from "../core/dom.js";
import { onEscape } from "../core/escape.js";
import { artistOf, titleOf } from "../core/format.js";
import { seekBar, transport } from "./controls.js";
import { surpriseDial, toggleOptions } from "./options.js";
import { player } from "./player.js";
import { toggleQueue } from "./queue.js";
import { radio } from "./radio.js";
import { cover } from "../songs/cover.js";
import { heartButton } from "../songs/hearts.js";
import { albumHref, artistHref, songHref } from "../songs/links.js";
import { songMenu } from "../songs/menu.js";

const COVER_PIXELS = 480;
const SWIPE_PIXELS = 80;
const MOVE_MILLISECONDS = 260;
const view = document.getElementById("now-playing");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const BEHIND = [".side", ".page", "#player"];

let shown = null;
let release = () => {};
let isPushed = false; // whether the history has an entry for it, so that "back" closes it

const parts = {
  from: h("p", { class: "now-from muted ellipsis" }),
  cover: h("div", { class: "now-cover" }),
  names: h("div", { class: "now-names" }),
  next: h("button", { class: "now-next", id: "now-queue", type: "button", on: { click: () => toggleQueue() } }),
};

export function startNowPlaying() {
  const options = iconButton("sliders", "Playback options", () => toggleOptions(options), {
    id: "now-options",
    "aria-expanded": false,
    "aria-haspopup": "dialog",
  });
  parts.close = iconButton("down", "Close now playing", () => toggleNowPlaying(false), { id: "close-now-playing" });
  parts.dial = surpriseDial();
  replace(
    view,
    h("div", { class: "now-head" }, parts.close, parts.from, options),
    h(
      "div",
      { class: "now-body" },
      parts.cover,
      h(
        "div",
        { class: "now-side" },
        parts.names,
        seekBar({ prefix: "now-" }),
        transport({ prefix: "now-" }),
        parts.dial,
        parts.next,
      ),
    ),
  );
  player.addEventListener("change", draw);
  window.addEventListener("popstate", () => {
    if (!isPushed) return;
    isPushed = false;
    if (!view.hidden) close();
  });
  window.addEventListener("hashchange", () => {
    isPushed = false; // the entry is no longer the last one
    if (isOpen()) close();
  });
  document.addEventListener("click", (event) => {
    const link = isOpen() && event.target.closest(".menu a");
    if (link) follow(event, link);
  });
  watchSwipe();
}

const isOpen = () => !view.hidden;

export function toggleNowPlaying(on = !isOpen()) {
  if (on === isOpen()) return;
  if (!on) return leave();
  if (!player.current) return;
  const from = document.querySelector("#open-now-playing .cover")?.getBoundingClientRect();
  view.hidden = false;
  document.body.classList.add("has-now-playing");
  for (const part of BEHIND) document.querySelector(part)?.setAttribute("inert", "");
  release = onEscape(leave);
  history.pushState(history.state, "");
  isPushed = true;
  draw();
  parts.close.focus({ preventScroll: true });
  grow(from);
}

/** The small cover becomes the large one. */
function grow(from) {
  const picture = parts.cover.firstElementChild;
  const to = picture?.getBoundingClientRect();
  if (calm.matches || !from?.width || !to?.width) return;
  const begin = `translate(${from.left - to.left}px, ${from.top - to.top}px) scale(${from.width / to.width})`;
  const options = { duration: MOVE_MILLISECONDS, easing: "cubic-bezier(0.2, 0.7, 0.2, 1)" };
  const transformOrigin = "0 0";
  picture.animate([{ transform: begin, transformOrigin }, { transform: "none", transformOrigin }], options);
  view.animate([{ backgroundColor: "transparent" }, {}], options);
}

/** Close it as "back" would, so that the history is as before. */
function leave() {
  if (isPushed) history.back();
  else close();
}

function close() {
  view.hidden = true;
  release();
  document.body.classList.remove("has-now-playing");
  for (const part of BEHIND) document.querySelector(part)?.removeAttribute("inert");
  document.getElementById("open-now-playing")?.focus({ preventScroll: true });
}

/** Follow a link of the view or its menu: it closes first. */
function follow(event, { hash } = event.currentTarget) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  window.addEventListener("popstate", () => setTimeout(() => (location.hash = hash)), { once: true });
  leave();
}

function watchSwipe() {
  let from = null;
  view.addEventListener(
    "touchstart",
    (event) => {
      const still = view.scrollTop <= 0 && !event.target.closest("input");
      from = still && event.touches.length === 1 ? event.touches[0].clientY : null;
    },
    { passive: true },
  );
  view.addEventListener("touchend", (event) => {
    if (from !== null && event.changedTouches[0].clientY - from > SWIPE_PIXELS) leave();
    from = null;
  });
}

function draw() {
  if (!isOpen()) return;
  const song = player.current;
  if (!song) return leave();
  if (song !== shown || !parts.cover.firstChild) drawSong(song);
  parts.dial.hidden = !radio.on;
  parts.from.textContent = player.from?.label || "Now playing";
  const next = player.queue[player.index + 1];
  replace(
    parts.next,
    h("span", { class: "muted small-text" }, next ? "Next" : "Queue"),
    h("span", { class: "ellipsis" }, next ? `${titleOf(next)} · ${artistOf(next)}` : "Nothing comes after this song"),
  );
}

function drawSong(song) {
  shown = song;
  const link = (href, text) => (song.src ? h("span", {}, text) : h("a", { href, on: { click: follow } }, text));
  const picture = cover(song, COVER_PIXELS, { eager: true });
  if (!song.src) picture.alt = song.album ? `Cover of ${song.album}` : "";
  replace(parts.cover, picture);
  replace(
    parts.names,
    h(
      "div",
      {},
      h("h2", { class: "now-title", dir: "auto" }, link(songHref(song.id), titleOf(song))),
      h("p", { class: "now-artist", dir: "auto" }, link(artistHref(song), artistOf(song))),
      song.album && h("p", { class: "now-album muted", dir: "auto" }, link(albumHref(song), song.album)),
    ),
    heartButton(song, { id: "now-heart" }),
    !song.src && songMenu(song),
  );
}
