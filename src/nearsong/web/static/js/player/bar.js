// The bar at the bottom: cover, names, buttons, seek and volume. Draws the state of player.js.

import { announce, h, icon, iconButton, replace } from "../core/dom.js";
import { artistOf, time, titleOf } from "../core/format.js";
import { player } from "./player.js";
import { closeQueue, toggleQueue } from "./queue.js";
import { radio } from "./radio.js";
import { cover } from "../songs/cover.js";
import { heartButton } from "../songs/hearts.js";
import { artistHref, artistLink, songHref } from "../songs/links.js";

const bar = document.getElementById("player");

let shown = null;
let dragging = false;

const parts = {
  song: h("div", { class: "player-song" }),
  previous: iconButton("previous", "Previous song", () => player.previous(), { id: "previous" }),
  toggle: iconButton("play", "Play", () => player.toggle(), { id: "play-toggle", class: "icon-button player-toggle" }),
  next: iconButton("next", "Next song", () => player.next(), { id: "next" }),
  now: h("span", { class: "player-time number", "aria-hidden": true }, "0:00"),
  seek: h("input", {
    class: "slider",
    id: "seek",
    type: "range",
    min: 0,
    max: 100,
    step: 1,
    value: 0,
    "aria-label": "Position in the song",
  }),
  all: h("span", { class: "player-time number", "aria-hidden": true }, "0:00"),
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
  queue: iconButton("queue", "Queue", () => toggleQueue(), {
    id: "queue-toggle",
    "aria-expanded": false,
    "aria-controls": "queue-panel",
  }),
};

export function startPlayerBar() {
  replace(
    bar,
    parts.song,
    h(
      "div",
      { class: "player-middle" },
      h("div", { class: "player-buttons" }, parts.previous, parts.toggle, parts.next),
      h("div", { class: "player-seek" }, parts.now, parts.seek, parts.all),
    ),
    h("div", { class: "player-right" }, h("div", { class: "player-volume" }, parts.mute, parts.volume), parts.queue),
  );
  parts.seek.addEventListener("input", () => {
    dragging = true;
    paintSeek(Number(parts.seek.value));
  });
  parts.seek.addEventListener("change", () => {
    dragging = false;
    player.seek(Number(parts.seek.value));
  });
  parts.volume.addEventListener("input", () => {
    player.volume = Number(parts.volume.value) / 100;
  });
  player.addEventListener("change", draw);
  player.addEventListener("time", drawTime);
  document.addEventListener("keydown", (event) => event.key === "Escape" && !event.defaultPrevented && closeQueue());
  draw();
}

function draw() {
  const song = player.current;
  bar.hidden = !song;
  document.body.classList.toggle("has-player", Boolean(song));
  if (!song) return;
  if (song !== shown) drawSong(song);
  const playing = player.playing;
  bar.classList.toggle("is-playing", playing);
  parts.radio.hidden = !radio.on;
  parts.radio.title = radio.on ? `Radio: ${radio.name}` : "";
  swap(parts.toggle, playing ? "pause" : "play", playing ? "Pause" : "Play");
  swap(parts.mute, player.muted ? "muted" : "volume", player.muted ? "Unmute" : "Mute");
  parts.next.disabled = player.index + 1 >= player.queue.length;
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
  const artist = song.src ? h("span", {}, song.artist) : artistLink(song.artist);
  if (!song.src) artist.href = artistHref(song.artist);
  replace(
    parts.song,
    cover(song, 52, { eager: true }),
    h(
      "div",
      { class: "player-names" },
      title,
      h("div", { class: "player-second" }, h("div", { class: "player-artist ellipsis" }, artist), parts.radio),
    ),
    heartButton(song, { id: "player-heart" }),
  );
  if (shown) announce(`Now: ${titleOf(song)} by ${artistOf(song)}`);
  shown = song;
  dragging = false;
}

function swap(node, name, label) {
  if (node.getAttribute("aria-label") === label) return;
  node.setAttribute("aria-label", label);
  replace(node, icon(name));
}

function drawTime() {
  const length = player.duration;
  const whole = Math.max(1, Math.round(length));
  if (Number(parts.seek.max) !== whole) parts.seek.max = whole;
  parts.all.textContent = time(length);
  const loaded = length ? Math.min(1, player.buffered / length) : 0;
  parts.seek.style.setProperty("--loaded", `${100 * loaded}%`);
  bar.style.setProperty("--played", `${length ? (100 * player.position) / length : 0}%`);
  if (!dragging) paintSeek(player.position);
}

function paintSeek(position) {
  const length = player.duration;
  if (!dragging) parts.seek.value = Math.round(position);
  parts.now.textContent = time(position);
  parts.seek.style.setProperty("--part", `${length ? (100 * position) / length : 0}%`);
  parts.seek.setAttribute("aria-valuetext", `${time(position)} of ${time(length)}`);
}
