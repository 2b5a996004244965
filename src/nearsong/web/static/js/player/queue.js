// The panel with the queue.   toggleQueue(), closeQueue()

import { button, h, icon, iconButton, replace } from "../core/dom.js";
import { artistOf, count, longTime, time, titleOf } from "../core/format.js";
import { player } from "./player.js";
import { radio } from "./radio.js";
import { cover } from "../songs/cover.js";

const MAX_ROWS = 200; // rows drawn
const panel = document.getElementById("queue-panel");
const opener = () => document.getElementById("queue-toggle");

export function toggleQueue() {
  if (!panel.hidden) closeQueue();
  else if (player.current) open(); // else the queue is empty
}

function open() {
  panel.hidden = false;
  opener().setAttribute("aria-expanded", "true");
  draw();
  panel.querySelector("h2").focus({ preventScroll: true });
}

export function closeQueue() {
  if (panel.hidden) return;
  const inside = panel.contains(document.activeElement);
  panel.hidden = true;
  opener().setAttribute("aria-expanded", "false");
  if (inside) opener().focus();
}

function row(song, at) {
  const playing = at === player.index;
  return h(
    "li",
    { class: ["queue-row", playing && "is-current"] },
    h(
      "button",
      {
        class: "queue-song",
        type: "button",
        "aria-current": playing ? "true" : undefined,
        on: { click: () => player.jump(at) },
        "aria-label": `${playing ? "Playing now" : "Play"}: ${titleOf(song)} by ${artistOf(song)}`,
      },
      cover(song, 40),
      h(
        "span",
        { class: "queue-names" },
        h("span", { class: "ellipsis" }, titleOf(song)),
        h("span", { class: "ellipsis muted small-text" }, artistOf(song)),
      ),
      h("span", { class: "number muted small-text" }, time(song.seconds)),
    ),
    iconButton("close", `Remove ${titleOf(song)}`, () => removeAt(at), { disabled: playing }),
  );
}

function removeAt(at) {
  player.remove(at);
  const rows = panel.querySelectorAll(".queue-row");
  const next = rows[Math.min(at - player.index, rows.length - 1)];
  next?.querySelector(".icon-button:not(:disabled)")?.focus();
}

function radioNote() {
  const stop = () => {
    radio.stop();
    panel.querySelector("h2").focus({ preventScroll: true });
  };
  return h(
    "div",
    { class: "queue-radio" },
    icon("radio"),
    h(
      "div",
      {},
      h("p", { class: "ellipsis" }, h("strong", {}, "Radio: "), radio.name),
      h("p", { class: "muted small-text" }, "Never ends. Follows what you play, heart and skip."),
    ),
    button("Stop radio", stop, { class: "button plain small", id: "stop-radio" }),
  );
}

function draw() {
  if (panel.hidden) return;
  if (!player.current) return closeQueue();
  const held = panel.contains(document.activeElement);
  const kept = panel.querySelector(".queue-list")?.scrollTop || 0;
  const shown = player.queue.slice(player.index, player.index + MAX_ROWS);
  const after = player.queue.slice(player.index + 1);
  const seconds = after.reduce((sum, song) => sum + (song.seconds || 0), 0);
  const list = h(
    "ol",
    { class: "queue-list", role: "list", tabindex: "0", "aria-label": "Queue" },
    shown.map((song, i) => row(song, player.index + i)),
  );
  const none = radio.on ? "Choosing what comes next." : "The queue is empty. Add songs from their menu.";
  const sum = after.length ? `${count(after.length, "song")}, ${longTime(seconds)}` : none;
  replace(
    panel,
    h(
      "div",
      { class: "queue-head" },
      h("h2", { tabindex: "-1" }, "Queue"),
      iconButton("close", "Close queue", closeQueue),
    ),
    radio.on && radioNote(),
    h(
      "div",
      { class: "queue-sum muted small-text" },
      h("span", {}, sum),
      after.length > 0 &&
        button("Clear", () => player.clearNext(), { class: "button plain small" }),
    ),
    list,
    after.length + 1 > shown.length &&
      h("p", { class: "muted small-text queue-sum" }, `and ${count(after.length + 1 - shown.length, "more song")}`),
  );
  list.scrollTop = kept;
  // the focused element was redrawn
  if (held && !panel.contains(document.activeElement)) panel.querySelector("h2").focus({ preventScroll: true });
}

let drawn = "";
player.addEventListener("change", () => {
  const now = `${radio.on}/${player.index}/${player.queue.map((song) => song.id ?? song.src).join()}`;
  if (panel.hidden || now === drawn) {
    // redrawn only if the songs changed, to keep the focus
    if (panel.hidden) drawn = "";
    return;
  }
  drawn = now;
  draw();
});
