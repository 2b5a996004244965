// The panel with the queue: a column beside the view, on phones a sheet. Its rows can be played, moved and removed.
//
//   toggleQueue(), closeQueue()

import { post } from "../core/api.js";
import { announce, button, h, icon, iconButton, replace } from "../core/dom.js";
import { onEscape } from "../core/escape.js";
import { artistOf, brief, count, longTime, number, time, titleOf } from "../core/format.js";
import { store, stored } from "../core/storage.js";
import { arrowStep, dragRow } from "../widgets/reorder.js";
import { say, sayError } from "../core/toasts.js";
import { surpriseDial } from "./options.js";
import { player } from "./player.js";
import { radio } from "./radio.js";
import { cover } from "../songs/cover.js";

const KEY = "nearsong.skipped";
const MAX_ROWS = 200; // rows drawn
const MAX_PLAYLIST = 10_000; // songs of a saved one
const UNDO_SECONDS = 9;
const panel = document.getElementById("queue-panel");
const opener = () => document.getElementById("queue-toggle");

let release = () => {};
let drawn = "";

export function toggleQueue() {
  if (!panel.hidden) closeQueue();
  else if (player.current) open(); // else the queue is empty
}

function open() {
  panel.hidden = false;
  document.body.classList.add("has-queue");
  opener().setAttribute("aria-expanded", "true");
  release = onEscape(closeQueue);
  if (!panel.firstChild) build();
  draw();
  parts.title.focus({ preventScroll: true });
}

export function closeQueue() {
  if (panel.hidden) return;
  const inside = panel.contains(document.activeElement);
  release();
  closeForm();
  panel.hidden = true;
  drawn = "";
  document.body.classList.remove("has-queue");
  opener().setAttribute("aria-expanded", "false");
  const large = document.getElementById("now-queue");
  if (inside) (large?.offsetParent ? large : opener()).focus();
}

const parts = {
  title: h("h2", { tabindex: "-1" }, "Queue"),
  from: h("p", { class: "muted small-text ellipsis queue-from" }),
  radioName: h("span", {}),
  sum: h("span", { class: "muted small-text" }),
  list: h("ol", { class: "queue-list", role: "list", tabindex: "0", "aria-label": "Queue" }),
  more: h("p", { class: "muted small-text queue-sum" }),
  name: h("input", { class: "input", id: "queue-name", type: "text", maxlength: 200, dir: "auto" }),
  submit: h("button", { class: "button small", type: "submit" }),
};
parts.save = button("Save", openForm, {
  class: "button plain small",
  id: "save-queue",
  icon: "save",
  title: "Save as a playlist",
});
parts.clear = button("Clear", clearQueue, {
  class: "button plain small",
  id: "clear-queue",
});
parts.form = h(
  "form",
  { class: "queue-form", id: "queue-form", hidden: true, on: { submit: saveQueue } },
  h("label", { class: "label", for: "queue-name" }, "Name of the playlist"),
  parts.name,
  h(
    "div",
    { class: "cluster" },
    parts.submit,
    button("Cancel", () => closeForm(true), { class: "button plain small" }),
  ),
);

function build() {
  parts.radio = h(
    "div",
    { class: "queue-radio" },
    icon("radio"),
    h("p", { class: "ellipsis" }, h("strong", {}, "Radio: "), parts.radioName),
    button("Stop radio", stopRadio, { class: "button plain small", id: "stop-radio" }),
    h("p", { class: "small-text queue-radio-words" }, "Never ends. Follows what you play, heart and skip."),
    surpriseDial(),
  );
  replace(
    panel,
    h(
      "div",
      { class: "queue-head" },
      h("div", { class: "queue-title" }, parts.title, parts.from),
      iconButton("close", "Close queue", closeQueue),
    ),
    h(
      "div",
      { class: "queue-sum" },
      parts.sum,
      h("div", { class: "cluster queue-tools" }, parts.save, parts.clear),
    ),
    parts.form,
    parts.list,
    parts.more,
  );
  parts.list.addEventListener("keydown", moveByKey);
}

function stopRadio() {
  radio.stop();
  parts.title.focus({ preventScroll: true });
}

// ---- clearing

async function clearQueue() {
  const before = player.snapshot();
  parts.title.focus({ preventScroll: true }); // the button goes
  if (radio.on) await radio.clear();
  else player.clearNext();
  say("Queue cleared.", { seconds: UNDO_SECONDS, action: { label: "Undo", run: () => takeBack(before) } });
}

/** The queue as it was, with what was queued since; the song plays on if it is still the same. */
function takeBack(before) {
  if (player.current === before.songs[before.index]) {
    const added = player.snapshot().byHand;
    player.restore({ ...before, position: null });
    if (added.length) player.add(added);
  } else {
    player.restore(before);
    if (before.playing) player.toggle();
  }
}

// ---- saving

let releaseForm = () => {};

function openForm() {
  parts.form.hidden = false;
  parts.name.value = player.from?.label?.replace(/^Radio: /, "") || "Queue";
  releaseForm = onEscape(() => closeForm(true));
  parts.name.focus();
  parts.name.select();
}

function closeForm(back = false) {
  releaseForm();
  parts.form.hidden = true;
  if (back) parts.save.focus();
}

// ids of songs that were left early and not played again
let skipped = new Set(stored(KEY));
let latest = null;

function setSkipped(songs) {
  skipped = new Set(songs);
  store(KEY, [...skipped]);
}

const isSkipped = (song, at) => at < player.index && skipped.has(song.id);

/** What is saved: all songs of the queue, those that were played too, but no uploaded and no skipped ones. */
const savedSongs = () => player.queue.filter((song, at) => !song.src && !isSkipped(song, at)).slice(0, MAX_PLAYLIST);

player.addEventListener("skipped", ({ detail }) => setSkipped([...skipped, detail.song.id]));
player.addEventListener("replaced", () => setSkipped([]));
player.addEventListener("change", () => {
  const { current } = player;
  if (current !== latest && skipped.has(current?.id)) setSkipped([...skipped].filter((id) => id !== current.id));
  latest = current;
});

async function saveQueue(event) {
  event.preventDefault();
  const songs = savedSongs();
  const name = parts.name.value.trim() || "Queue";
  try {
    const saved = await post("/playlists", { name, songs: songs.map((song) => song.id) });
    closeForm(true);
    const show = () => {
      location.hash = `#/playlists/${Number(saved.id)}`;
    };
    say(`Saved as “${brief(saved.name)}” (${count(songs.length, "song")}).`, {
      kind: "good",
      action: { label: "Open", run: show },
    });
  } catch (error) {
    sayError(error);
  }
}

// ---- rows

function row(song, at) {
  const playing = at === player.index;
  const drag = h(
    "button",
    {
      class: "icon-button queue-drag",
      type: "button",
      "aria-label": `Move ${titleOf(song)}: Alt and arrow keys`,
      title: "Drag to move",
      on: { pointerdown: startDrag },
    },
    icon("drag"),
  );
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
    !playing && drag,
    iconButton("close", `Remove ${titleOf(song)}`, () => removeAt(at), {
      class: "icon-button queue-remove",
      disabled: playing,
    }),
  );
}

/** Rows are drawn from the current song on: the index in the queue of an item of the list. */
const indexOfItem = (item) => player.index + [...parts.list.children].indexOf(item);

function removeAt(at) {
  player.remove(at);
  focusRow(at, ".queue-remove");
}

function focusRow(at, control) {
  const rows = parts.list.children;
  const item = rows[Math.min(Math.max(0, at - player.index), rows.length - 1)];
  (item?.querySelector(`${control}:not(:disabled)`) || item?.querySelector("button"))?.focus();
}

function moveByKey(event) {
  const step = arrowStep(event);
  const item = event.target.closest(".queue-row");
  if (!step || !item) return;
  event.preventDefault();
  const control = [".queue-drag", ".queue-remove"].find((one) => event.target.matches(one));
  move(indexOfItem(item), indexOfItem(item) + step, control || ".queue-song");
}

function move(from, to, control = ".queue-drag") {
  if (from <= player.index) return;
  if (to <= player.index || to >= player.queue.length)
    return announce(to <= player.index ? "Already the next song" : "Already the last song");
  const song = player.queue[from];
  player.move(from, to);
  focusRow(to, control);
  announce(`${titleOf(song)}: position ${to - player.index} of ${player.queue.length - player.index - 1}`);
}

function startDrag(event) {
  const { index } = player;
  const song = player.queue[indexOfItem(event.currentTarget.closest("li"))];
  dragRow(event, parts.list, {
    scroller: parts.list,
    drop: (_, to) => {
      drawn = "";
      const from = player.queue.indexOf(song);
      const goal = Math.max(player.index + 1, index + to);
      if (from > player.index && goal !== from) move(from, goal);
      else draw();
    },
    cancel: () => draw(),
  });
}

// ---- drawing

function draw() {
  if (panel.hidden || parts.list.querySelector(".is-dragged")) return;
  if (!player.current) return closeQueue();
  const held = parts.list.contains(document.activeElement) && document.activeElement !== parts.list;
  const kept = parts.list.scrollTop;
  const shown = player.queue.slice(player.index, player.index + MAX_ROWS);
  const after = player.queue.slice(player.index + 1);
  const seconds = after.reduce((sum, song) => sum + (song.seconds || 0), 0);
  const none = radio.on ? "Choosing what comes next." : "Nothing comes after this song.";
  const left = after.length + 1 - shown.length;
  drawn = stateNow();
  parts.from.textContent = radio.on ? "" : player.from?.label || "";
  if (!radio.on) parts.radio.remove();
  else if (!parts.radio.isConnected) panel.firstElementChild.after(parts.radio);
  parts.radioName.textContent = radio.name;
  parts.sum.textContent = after.length ? `${count(after.length, "song")} to come, ${longTime(seconds)}` : none;
  drawSave();
  parts.clear.disabled = !after.length; // and not seen: the button beside it stays where it is
  parts.more.hidden = left <= 0;
  parts.more.textContent = left > 0 ? `and ${count(left, "more song")}` : "";
  replace(
    parts.list,
    shown.map((song, i) => row(song, player.index + i)),
  );
  parts.list.scrollTop = kept;
  if (held) parts.title.focus({ preventScroll: true }); // the focused element was redrawn
}

function drawSave() {
  const nSkipped = player.queue.filter((song, at) => !song.src && isSkipped(song, at)).length;
  const played = player.index > nSkipped ? ", with those played" : "";
  parts.submit.textContent = `Save ${count(savedSongs().length, "song")}${played}`;
  parts.submit.title = nSkipped ? `without ${number(nSkipped)} skipped` : "";
  parts.save.title = `Save as a playlist${nSkipped ? `, ${parts.submit.title}` : ""}`;
}

const stateNow = () =>
  `${radio.on}/${player.index}/${player.from?.label}/${player.queue.map((song) => song.id ?? song.src).join()}`;

player.addEventListener("change", () => {
  if (!panel.hidden && stateNow() !== drawn) draw(); // redrawn only if the songs changed, to keep the focus
});
