// A map with all its parts: stage, search, legend, tools, card, lasso, list. The service's view and the exported page
// differ only in what they offer to do with songs.
//
//   mapView(columns, options) -> {nodes, stage, select(row, {open, fly}), start(row)}
//     options: signal    aborted when the map is left
//              verb      what pressing a song does, for screen readers: "Play"
//              open(row, stage)      a song was pressed on the map or in the list
//              card({row, stage, showList}) -> {cover, actions} of the card of the selected song
//              lasso(rows, stage) -> buttons for songs that were selected with the lasso
//              similar(row) -> [{row, closeness, word}], or null
//              notice    node at the top right
//              onSelect(row)         the selected song has changed; -1: none
//   start(row): to be called once `nodes` are on the page; row: the song to show, or undefined

import { announce, h, icon, iconButton } from "../core/dom.js";
import { onEscape } from "../core/escape.js";
import { count } from "../core/format.js";
import { songPicker } from "../songs/picker.js";
import { songCard, songTip } from "./card.js";
import { kinds } from "./colours.js";
import { Finder } from "./columns.js";
import { lassoBar, lassoButton } from "./lasso.js";
import { legend } from "./legend.js";
import { songPanel } from "./list.js";
import { Stage } from "./stage.js";

const COVERING = ".map-legend, .map-search, .map-tools, .map-card, .map-picked, .map-new";
const CLOSE_UP = 4; // zoom at which a song is shown that was searched for

export function mapView(columns, options) {
  const { signal, verb, notice = null, onSelect = () => {} } = options;
  const stage = new Stage(columns, signal);
  const focusMap = () => stage.over.focus({ preventScroll: true });
  const clear = () => {
    stage.choose([]);
    focusMap();
  };

  function select(row, { open = false, fly = false } = {}) {
    stage.select(row);
    card.show(row);
    onSelect(row);
    if (row < 0) return;
    if (open) options.open(row, stage);
    if (fly) flyTo(stage, row, card.node);
    announce(columns.fullName(row));
  }

  // what Esc takes back, the first first: [whether it is there, how]
  const taken = [
    [() => stage.gestures.lasso, () => lasso.set(false)],
    [() => stage.chosen.size > 0 || stage.outline.length > 0, clear],
    [() => stage.selected >= 0, () => card.close()],
    [() => stage.focus !== null, () => stage.setFocus(null)],
  ];

  const list = songPanel(stage, { verb, similar: options.similar, open: (row) => select(row, { open: true }) });
  const card = songCard(stage, {
    parts: (row) => options.card({ row, stage, showList: () => list.show(true) }),
    close: () => {
      select(-1);
      focusMap();
    },
  });
  const search = finder(columns, signal, (row) => {
    select(row, { fly: true });
    focusMap();
  });
  const lasso = lassoButton(stage);
  const colours = legend(stage);
  const selection = lassoBar(stage, { clear, actions: (rows) => options.lasso(rows, stage) });
  stage.over.setAttribute("aria-label", `Map of ${count(columns.n, "song")}`);
  stage.over.setAttribute("aria-describedby", "map-keys");
  stage.addEventListener("tap", ({ detail: row }) => select(row, { open: row >= 0 }));
  closeByEscape(stage, taken);
  stage.addEventListener("chosen", () => {
    if (!stage.chosen.size) return;
    select(-1);
    lasso.set(false);
  });
  stage.addEventListener("lasso", () => {
    if (stage.gestures.lasso) select(-1);
  });
  const nodes = [
    h("p", { id: "map-keys", class: "visually-hidden" }, keysHelp(verb)),
    h(
      "div",
      { class: "map-frame" },
      stage.node,
      h(
        "div",
        { class: "map-overlay" },
        h("div", { class: "map-search" }, icon("search"), search.node),
        notice,
        tools(stage, lasso.node, list.toggle),
        h("div", { class: "map-foot" }, card.node, selection),
      ),
      songTip(stage),
    ),
    colours,
    list.node,
  ];
  const start = (row) => {
    fitToWindow(stage, colours);
    if (row !== undefined) select(row, { fly: true });
  };
  return { nodes, stage, select, start };
}

const keysHelp = (verb) =>
  "Arrow keys move the map, plus and minus zoom, 0 shows all of it, " +
  `Enter: ${verb.toLowerCase()} the song in the centre. The songs in view are listed after the map.`;

/** Let Esc take back one thing after the other, as long as there is one. */
function closeByEscape(stage, taken) {
  let release = null;
  const first = () => taken.find(([isThere]) => isThere());
  const watch = () => {
    if (first()) release ??= onEscape(step);
    else release = void release?.();
  };
  const step = () => {
    release = null;
    first()?.[1]();
    watch();
  };
  for (const name of ["lasso", "chosen", "selected", "colours"]) stage.addEventListener(name, watch);
  stage.signal.addEventListener("abort", () => release?.());
}

/** Move to a song, so that the card does not cover it. */
function flyTo(stage, row, card) {
  const { camera, columns } = stage;
  const zoom = camera.bounded(Math.max(camera.zoom, CLOSE_UP));
  const narrow = card.offsetWidth > camera.width / 2;
  const pixelsDown = (camera.scale[1] / camera.zoom) * zoom;
  camera.fly(columns.x[row], columns.y[row] + (narrow ? card.offsetHeight / 2 / pixelsDown : 0), zoom);
}

function fitToWindow(stage, colours) {
  const wide = matchMedia("(min-width: 721px)");
  const beside = matchMedia("(min-width: 1101px)"); // legend and list have a column of their own
  colours.open = beside.matches;
  stage.covered = () => {
    const box = stage.node.getBoundingClientRect();
    return [...stage.node.closest(".map-view").querySelectorAll(COVERING)]
      .filter((part) => part.offsetParent && !part.hidden)
      .map((part) => part.getBoundingClientRect())
      .map((part) => [part.left - box.left, part.top - box.top, part.right - box.left, part.bottom - box.top]);
  };
  stage.edges = () =>
    wide.matches
      ? { left: colours.open && !beside.matches ? colours.offsetWidth + 20 : 16, top: 68, right: 64, bottom: 16 }
      : { left: 8, top: 64, right: 8, bottom: 72 };
  colours.addEventListener("toggle", () => stage.resize());
  beside.addEventListener("change", () => (colours.open = beside.matches), { signal: stage.signal });
  stage.setKind(kinds(stage.columns)[0]?.value ?? "plays");
  stage.resize();
}

function finder(columns, signal, pick) {
  const words = new Finder(columns);
  return songPicker({
    id: "map-find",
    label: "Search the map",
    placeholder: "Search songs and artists",
    wait: 60,
    slash: signal,
    find: async (text) => words.find(text).map((row) => ({ song: columns.song(row), row })),
    pick: ({ row }) => pick(row),
  });
}

function tools(stage, ...buttons) {
  const { camera } = stage;
  const tool = (name, label, key, run) => iconButton(name, label, run, { title: `${label} (${key})` });
  return h(
    "div",
    { class: "map-tools", role: "group", "aria-label": "Map tools" },
    buttons,
    tool("add", "Zoom in", "+", () => camera.fly(...camera.nearer(1.8))),
    tool("remove", "Zoom out", "−", () => camera.fly(...camera.nearer(1 / 1.8))),
    tool("fit", "Show the whole map", "0", () => camera.fly(0.5, 0.5, 1)),
  );
}
