// The songs of the draft as rows that can be played, moved (by hand, by keys, by menu) and removed.
//
//   songRows({signal}) -> {node, sync()}        undoAction(label) -> the action of a message

import { announce, h, icon, replace } from "../dom.js";
import { brief, number, titleOf } from "../format.js";
import { draft } from "../draft.js";
import { player } from "../player.js";
import { moveByArrows, songRow } from "../songs.js";
import { say } from "../toast.js";

const PAGE = 200; // rows drawn at first, and more at a time
const EDGE = 70; // pixels from the window's edge where a dragged row makes the page scroll

export function songRows({ signal }) {
  let shown = null, most = PAGE;
  const list = h("ol", { class: "song-list draft-rows", id: "draft-songs", role: "list", "aria-label": "Songs of the playlist" });
  const more = h("button", { class: "button quiet", type: "button", on: { click: () => { most += PAGE; draw(); } } });
  const node = h("div", {}, list, more);
  moveByArrows(list);
  list.addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key], row = event.target.closest("li");
    if (!step || !row || !(event.altKey || event.target.classList.contains("row-drag"))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    move([...list.children].indexOf(row), step, event.target.className);
  }, { capture: true });

  function move(from, step, focus = "row-drag") {
    const to = from + step, { songs } = draft.state;
    if (to < 0 || to >= songs.length) return announce(to < 0 ? "It is the first song already" : "It is the last song already");
    draft.move(from, to);
    refocus(to, focus);
    announce(`${songs[from].title}: now number ${to + 1} of ${songs.length}`);
  }

  function refocus(at, className) {
    const row = list.children[Math.min(at, list.children.length - 1)], name = className.split(" ").pop();
    (row?.querySelector(`.${CSS.escape(name)}`) || row?.querySelector("button"))?.focus({ preventScroll: false });
  }

  function remove(at) {
    const song = draft.state.songs[at];
    draft.remove(at);
    refocus(at, "row-remove");
    say(`“${brief(titleOf(song))}” is removed.`, { action: undoAction() });
  }

  function row(song, at) {
    const drag = h("button", {
      class: "icon-button row-drag", type: "button", "aria-label": `Move ${song.title}: arrow keys up and down`, title: "Drag to move",
      on: { pointerdown: (event) => startDrag(event, list, signal, at) },
    }, icon("drag"));
    const gone = h("button", {
      class: "icon-button row-remove", type: "button", "aria-label": `Remove ${song.title} from the list`, title: "Remove from the list", on: { click: () => remove(at) },
    }, icon("close"));
    const menu = [
      { icon: "up", label: "Move up", run: () => move(at, -1, "row-more") }, { icon: "down", label: "Move down", run: () => move(at, 1, "row-more") },
    ];
    const line = songRow(song, { onPlay: () => player.play(draft.state.songs, at), actions: [gone], menu });
    line.firstElementChild.prepend(drag, h("span", { class: "row-place number muted", "aria-hidden": true }, String(at + 1)));
    return line;
  }

  function draw() {
    const { songs } = draft.state;
    replace(list, songs.slice(0, most).map(row));
    more.hidden = songs.length <= most;
    more.textContent = `Show more (${number(songs.length - most)} left)`;
  }

  function sync() {
    if (shown === draft.state.songs) return;
    shown = draft.state.songs;
    draw();
  }

  return { node, sync };
}

/** The Undo of a message that stays for a while: it must not take back something later. */
export function undoAction(label = "Undo") {
  const back = draft.undoer;
  return { label, run: () => back() || say("The list has changed since then. The Undo above it goes back step by step.") };
}

/** Let a row follow the finger; the draft learns of it when it is let go. */
function startDrag(event, list, signal, from) {
  if (event.button) return;
  event.preventDefault();
  const handle = event.currentTarget, row = handle.closest("li"), life = new AbortController();
  const options = { signal: AbortSignal.any([life.signal, signal]) };
  let y = event.clientY, frame = 0;
  handle.setPointerCapture(event.pointerId);
  row.classList.add("is-dragged");
  const middle = (other) => { const box = other.getBoundingClientRect(); return box.top + box.height / 2; };
  const settle = () => { // the others make way: a row that is itself moved about loses the pointer
    for (let next = row.nextElementSibling; next && y > middle(next); next = row.nextElementSibling) row.before(next);
    for (let last = row.previousElementSibling; last && y < middle(last); last = row.previousElementSibling) row.after(last);
  };
  const scroll = () => {
    const past = y < EDGE ? y - EDGE : Math.max(0, y - (innerHeight - EDGE - 80));
    if (past) { scrollBy(0, past / 5); settle(); }
    frame = requestAnimationFrame(scroll);
  };
  const end = (keep) => {
    life.abort();
    cancelAnimationFrame(frame);
    row.classList.remove("is-dragged");
    const to = [...list.children].indexOf(row), title = draft.state.songs[from].title;
    if (keep && to !== from) {
      draft.move(from, to);
      announce(`${title}: now number ${to + 1}`);
    } else draft.change({ songs: [...draft.state.songs] }); // draws the rows where they were
    list.children[keep ? to : from]?.querySelector(".row-drag")?.focus({ preventScroll: true });
  };
  handle.addEventListener("pointermove", (moved) => { y = moved.clientY; settle(); }, options);
  handle.addEventListener("pointerup", () => end(true), options);
  handle.addEventListener("pointercancel", () => end(false), options);
  document.addEventListener("keydown", (pressed) => {
    if (pressed.key !== "Escape") return;
    pressed.preventDefault();
    end(false);
  }, options);
  frame = requestAnimationFrame(scroll);
}
