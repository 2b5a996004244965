// The bar at the bottom: cover, names, buttons, seek and volume. Draws the state of player.js.

import { announce, h, icon, iconButton, replace } from "../core/dom.js";
import { artistOf, titleOf } from "../core/format.js";
import { seekBar, swap, transport } from "./controls.js";
import { startNowPlaying, toggleNowPlaying } from "./now_playing.js";
import { toggleOptions } from "./options.js";
import { player } from "./player.js";
import { toggleQueue } from "./queue.js";
import { radio } from "./radio.js";
import { sleep } from "./sleep.js";
import { cover } from "../songs/cover.js";
import { heartButton } from "../songs/hearts.js";
import { artistLink, songHref } from "../songs/links.js";
import { songMenu } from "../songs/menu.js";

const SWIPE_PIXELS = 40;
const bar = document.getElementById("player");

let shown = null;

const parts = {
  song: h("div", { class: "player-song" }),
  mute: iconButton(
    "volume",
    "Mute",
    () => {
      player.muted = !player.muted;
    },
    { id: "mute" },
  ),
  volume: h("input", {
    class: "slider",
    id: "volume",
    type: "range",
    min: 0,
    max: 100,
    step: 5,
    value: 100,
    "aria-label": "Volume",
  }),
  radio: h(
    "span",
    { class: "mark accent player-radio", id: "player-radio", hidden: true },
    icon("radio"),
    h("span", {}, "Radio"),
  ),
  options: iconButton("sliders", "Playback options", () => toggleOptions(parts.options), {
    id: "options-toggle",
    title: "Sleep timer, crossfade, loudness",
    "aria-expanded": false,
    "aria-haspopup": "dialog",
  }),
  queue: iconButton("queue", "Queue", () => toggleQueue(), {
    id: "queue-toggle",
    "aria-expanded": false,
    "aria-controls": "queue-panel",
  }),
};

export function startPlayerBar() {
  const volume = h("div", { class: "player-volume" }, parts.mute, parts.volume);
  replace(
    bar,
    parts.song,
    h("div", { class: "player-middle" }, transport(), seekBar()),
    h("div", { class: "player-right" }, volume, parts.options, parts.queue),
  );
  parts.volume.addEventListener("input", () => {
    player.volume = Number(parts.volume.value) / 100;
  });
  watchSwipe();
  startNowPlaying();
  player.addEventListener("change", draw);
  player.addEventListener("time", drawTime);
  sleep.addEventListener("change", drawSleep);
  draw();
  drawSleep();
}

/** A finger that moves up on the song opens the large view. */
function watchSwipe() {
  let from = null;
  parts.song.addEventListener(
    "touchstart",
    (event) => {
      from = event.touches[0].clientY;
    },
    { passive: true },
  );
  parts.song.addEventListener("touchend", (event) => {
    if (from !== null && from - event.changedTouches[0].clientY > SWIPE_PIXELS) {
      event.preventDefault(); // no click besides
      toggleNowPlaying(true);
    }
    from = null;
  });
}

function draw() {
  const song = player.current;
  bar.hidden = !song;
  document.body.classList.toggle("has-player", Boolean(song));
  if (!song) return;
  if (song !== shown) drawSong(song);
  bar.classList.toggle("is-playing", player.playing);
  parts.radio.hidden = !radio.on;
  parts.radio.title = radio.on ? `Radio: ${radio.name}` : "";
  swap(parts.mute, player.muted ? "muted" : "volume", player.muted ? "Unmute" : "Mute");
  const level = player.muted ? 0 : Math.round(player.volume * 100);
  parts.volume.value = level;
  parts.volume.style.setProperty("--part", `${level}%`);
  parts.volume.setAttribute("aria-valuetext", `${level} percent`);
  drawTime();
}

function drawSong(song) {
  const title = song.src
    ? h("span", { class: "player-title ellipsis" }, song.title)
    : h(
        "a",
        { class: "player-title ellipsis", id: "player-title", href: songHref(song.id), title: titleOf(song) },
        titleOf(song),
      );
  const artist = song.src ? h("span", {}, song.artist) : artistLink(song);
  const large = h(
    "button",
    {
      class: "player-cover",
      id: "open-now-playing",
      type: "button",
      title: "Now playing",
      "aria-label": "Open now playing",
      "aria-haspopup": "dialog",
      on: { click: () => toggleNowPlaying() },
    },
    cover(song, 52, { eager: true }),
    h("span", { class: "player-cover-sign" }, icon("up")),
  );
  const held = document.activeElement?.id === "open-now-playing";
  replace(
    parts.song,
    large,
    h(
      "div",
      { class: "player-names" },
      title,
      h("div", { class: "player-second" }, h("div", { class: "player-artist ellipsis" }, artist), parts.radio),
    ),
    heartButton(song, { id: "player-heart" }),
    !song.src && songMenu(song),
  );
  if (held) large.focus({ preventScroll: true });
  if (shown) announce(`Now: ${titleOf(song)} by ${artistOf(song)}`);
  shown = song;
}

function drawTime() {
  const length = player.duration;
  bar.style.setProperty("--played", `${length ? (100 * player.position) / length : 0}%`);
}

function drawSleep() {
  const { minutes } = sleep;
  const words = minutes === "song" ? "stops after this song" : `sleeps in ${minutes} min`;
  swap(parts.options, minutes === null ? "sliders" : "moon", `Playback options${minutes === null ? "" : `: ${words}`}`);
  parts.options.classList.toggle("is-on", minutes !== null);
}
