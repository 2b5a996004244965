// The songs of the draft as rows that can be played, moved (by mouse, keys or menu) and removed.
//
//   songRows({signal}) -> {node, sync()}        undoAction(label) -> the Undo action of a toast

import { announce, h, icon, iconButton, replace } from "../../core/dom.js";
import { brief, number, titleOf } from "../../core/format.js";
import { dragRow } from "../../widgets/reorder.js";
import { draft } from "./draft.js";
import { player } from "../../player/player.js";
import { moveByArrows, songRow } from "../../songs/list.js";
import { say } from "../../core/toasts.js";

const PAGE_ROWS = 200; // rows drawn at first, and added by "Show more"

export function songRows({ signal }) {
  let shown = null;
  let most = PAGE_ROWS;
  const list = h("ol", {
    class: "song-list draft-rows",
    id: "draft-songs",
    role: "list",
    "aria-label": "Songs in the playlist",
  });
  const more = h("button", {
    class: "button quiet",
    type: "button",
    on: {
      click: () => {
        most += PAGE_ROWS;
        draw();
      },
    },
  });
  const node = h("div", {}, list, more);
  moveByArrows(list);
  list.addEventListener(
    "keydown",
    (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      const row = event.target.closest("li");
      if (!step || !row || !(event.altKey || event.target.classList.contains("row-drag"))) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      move([...list.children].indexOf(row), step, event.target.className);
    },
    { capture: true },
  );

  function move(from, step, focus = "row-drag") {
    const to = from + step;
    const { songs } = draft.state;
    if (to < 0 || to >= songs.length) return announce(to < 0 ? "Already the first song" : "Already the last song");
    draft.move(from, to);
    refocus(to, focus);
    announce(`${songs[from].title}: position ${to + 1} of ${songs.length}`);
  }

  function refocus(at, className) {
    const row = list.children[Math.min(at, list.children.length - 1)];
    const name = className.split(" ").pop();
    (row?.querySelector(`.${CSS.escape(name)}`) || row?.querySelector("button"))?.focus({ preventScroll: false });
  }

  function remove(at) {
    const song = draft.state.songs[at];
    draft.remove(at);
    refocus(at, "row-remove");
    say(`“${brief(titleOf(song))}” removed.`, { action: undoAction() });
  }

  /** Drag a row; the draft changes when it is dropped. */
  function startDrag(event) {
    const focus = (at) => list.children[at]?.querySelector(".row-drag")?.focus({ preventScroll: true });
    const at = [...list.children].indexOf(event.currentTarget.closest("li"));
    dragRow(event, list, {
      signal,
      drop: (from, to) => {
        const { title } = draft.state.songs[from];
        draft.move(from, to);
        announce(`${title}: position ${to + 1}`);
        focus(to);
      },
      cancel: () => {
        draft.change({ songs: [...draft.state.songs] }); // redraw the rows in their old order
        focus(at);
      },
    });
  }

  function row(song, at) {
    const drag = h(
      "button",
      {
        class: "icon-button row-drag",
        type: "button",
        "aria-label": `Move ${song.title}: arrow keys up and down`,
        title: "Drag to move",
        on: { pointerdown: startDrag },
      },
      icon("drag"),
    );
    const gone = iconButton(
      "close",
      `Remove ${song.title} from the playlist`,
      () => remove(at),
      { title: "Remove from the playlist", class: "icon-button row-remove" },
    );
    const menu = [
      { icon: "up", label: "Move up", run: () => move(at, -1, "row-more") },
      { icon: "down", label: "Move down", run: () => move(at, 1, "row-more") },
    ];
    const line = songRow(song, { onPlay: () => player.play(draft.state.songs, { start: at }), actions: [gone], menu });
    line.firstElementChild.prepend(
      drag,
      h("span", { class: "row-number number muted", "aria-hidden": true }, String(at + 1)),
    );
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

/** The Undo of a toast, which must not revert a later change. */
export function undoAction(label = "Undo") {
  const back = draft.undoer;
  return {
    label,
    run: () => back() || say("The playlist has changed since. Use Undo above it to go back step by step."),
  };
}
