// The buttons and sliders that the bar and the large view share; each set follows the player by itself.
//
//   transport({prefix}) -> node: shuffle, previous, play or pause, next, repeat
//   seekBar({prefix}) -> node: position, slider, length
//   swap(button, iconName, label): another icon and name for a button

import { announce, h, icon, iconButton, replace } from "../core/dom.js";
import { time } from "../core/format.js";
import { REPEATS } from "./order.js";
import { player } from "./player.js";

const REPEAT_WORDS = { off: "Repeat: off", all: "Repeat: all", one: "Repeat: this song" };

export function swap(node, name, label) {
  if (node.getAttribute("aria-label") === label) return;
  node.setAttribute("aria-label", label);
  if (node.title) node.title = label;
  replace(node, icon(name));
}

export function transport({ prefix = "" } = {}) {
  const shuffle = iconButton(
    "shuffle",
    "Shuffle",
    () => {
      player.shuffle = !player.shuffle;
      announce(player.shuffle ? "Shuffle on" : "Shuffle off");
    },
    { id: `${prefix}shuffle`, class: "icon-button player-mode", title: "Shuffle", "aria-pressed": false },
  );
  const repeat = iconButton(
    "repeat",
    REPEAT_WORDS.off,
    () => {
      player.repeat = REPEATS[(REPEATS.indexOf(player.repeat) + 1) % REPEATS.length];
      announce(REPEAT_WORDS[player.repeat]);
    },
    { id: `${prefix}repeat`, class: "icon-button player-mode", title: REPEAT_WORDS.off },
  );
  const previous = iconButton("previous", "Previous song", () => player.previous(), { id: `${prefix}previous` });
  const next = iconButton("next", "Next song", () => player.next(), { id: `${prefix}next` });
  const toggle = iconButton("play", "Play", () => player.toggle(), {
    id: `${prefix}play-toggle`,
    class: "icon-button player-toggle",
  });
  const draw = () => {
    swap(toggle, player.playing ? "pause" : "play", player.playing ? "Pause" : "Play");
    next.disabled = !player.hasNext;
    next.setAttribute("aria-busy", String(player.leaving));
    shuffle.setAttribute("aria-pressed", String(player.shuffle));
    repeat.classList.toggle("is-on", player.repeat !== "off");
    swap(repeat, player.repeat === "one" ? "repeat-one" : "repeat", REPEAT_WORDS[player.repeat]);
  };
  player.addEventListener("change", draw);
  draw();
  return h("div", { class: "player-buttons" }, shuffle, previous, toggle, next, repeat);
}

export function seekBar({ prefix = "" } = {}) {
  let song = null;
  let dragging = false;
  const now = h("span", { class: "player-time number", "aria-hidden": true }, "0:00");
  const all = h("span", { class: "player-time number", "aria-hidden": true }, "0:00");
  const seek = h("input", {
    class: "slider",
    id: `${prefix}seek`,
    type: "range",
    min: 0,
    max: 100,
    step: "any", // the thumb moves as the fill does
    value: 0,
    "aria-label": "Position in the song",
  });
  const paint = (position) => {
    const length = player.duration;
    if (!dragging) seek.value = position;
    now.textContent = time(position);
    seek.style.setProperty("--part", `${length ? (100 * position) / length : 0}%`);
    seek.setAttribute("aria-valuetext", `${time(position)} of ${time(length)}`);
  };
  const draw = () => {
    if (song !== player.current) dragging = false;
    song = player.current;
    const length = player.duration;
    const most = length || 1;
    if (Number(seek.max) !== most) seek.max = most;
    all.textContent = time(length);
    seek.style.setProperty("--loaded", `${length ? 100 * Math.min(1, player.buffered / length) : 0}%`);
    if (!dragging) paint(player.position);
  };
  seek.addEventListener("input", () => {
    dragging = true;
    paint(Number(seek.value));
  });
  seek.addEventListener("change", () => {
    dragging = false;
    player.seek(Number(seek.value));
  });
  player.addEventListener("time", draw);
  player.addEventListener("change", draw);
  draw();
  return h("div", { class: "player-seek" }, now, seek, all);
}
