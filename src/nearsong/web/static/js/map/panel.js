// What stands beside the map: the card of one song, the bar of what the lasso caught, the list of songs in sight, the tip.

import { announce, h, icon, replace } from "../dom.js";
import { count, number, time } from "../format.js";
import { draft } from "../draft.js";
import { player } from "../player.js";
import { cover, songHref } from "../songs.js";
import { say } from "../toast.js";

const LISTED = 50;
const QUEUED = 50; // songs that come after one of the map
const REST = 160; // milliseconds that the map must rest before its songs are listed

/** Play a song of the map, and then what lies around it. */
export function playFrom(stage, row) {
  player.play(stage.grid.around(row, QUEUED).map((near) => stage.columns.song(near)));
}

/** The card of the song that was chosen last. */
export function card(stage, close) {
  const node = h("section", { class: "map-card", id: "map-card", "aria-label": "Chosen song", hidden: true });

  function show(row) {
    node.hidden = row < 0;
    if (row < 0) return replace(node);
    const song = stage.columns.song(row), facts = [song.genre, song.year, time(song.seconds)].filter(Boolean).join(" · ");
    replace(
      node, cover(song, 64, { eager: true }),
      h("div", { class: "map-card-names" },
        h("h2", { class: "ellipsis", dir: "auto" }, song.title || "(no title)"),
        h("p", { class: "ellipsis", dir: "auto" }, song.artist || "(no artist)"), h("p", { class: "muted small-text ellipsis" }, facts)),
      h("button", { class: "icon-button map-card-close", type: "button", "aria-label": "Close the card", on: { click: close } }, icon("close")),
      h("div", { class: "map-card-actions" },
        h("button", { class: "button small", type: "button", on: { click: () => playFrom(stage, row) } }, icon("play"), "Play"),
        h("a", { class: "button quiet small", href: songHref(song.id) }, icon("near"), "Open song"),
        h("button", { class: "button quiet small", type: "button", on: { click: () => collect(song) } }, icon("add"), "To playlist")),
    );
  }

  return { node, show };
}

function collect(song) {
  const added = draft.add([song]);
  const text = added ? `is in your playlist now: ${count(draft.state.songs.length, "song")}` : "is in your playlist already";
  say(`“${song.title}” ${text}.`, { kind: added ? "good" : "info", action: { label: "Show it", run: () => { location.hash = "#/playlists"; } } });
}

/** What the lasso caught, and what can be done with it. */
export function pickedBar(stage, letGo) {
  const node = h("section", { class: "map-picked", id: "map-picked", "aria-label": "Songs you drew around", hidden: true });

  function show() {
    const rows = [...stage.chosen], drawn = stage.outline.length > 0;
    node.hidden = !rows.length && !drawn && !stage.hands.lasso;
    if (node.hidden) return replace(node);
    if (!rows.length && !drawn) return replace(node, icon("lasso"), h("p", { class: "map-picked-words" }, "Draw around the songs you want."));
    const songs = () => rows.map((row) => stage.columns.song(row));
    const make = () => {
      draft.setSongs(songs().slice(0, 10_000), "From the map");
      location.hash = "#/playlists";
    };
    const off = h("button", { class: "icon-button", type: "button", "aria-label": "Let go of these songs", on: { click: letGo } }, icon("close"));
    announce(rows.length ? `${count(rows.length, "song")} chosen` : "No songs there");
    replace(node, rows.length
      ? [h("button", { class: "button small", type: "button", on: { click: make } }, icon("playlist"), `Make a playlist of these (${number(rows.length)})`),
        h("button", { class: "button quiet small", type: "button", on: { click: () => player.play(songs()) } }, icon("play"), "Play"), off]
      : [h("p", { class: "map-picked-words" }, "No songs there. Draw around some dots."), off]);
  }

  for (const name of ["chosen", "lasso"]) stage.addEventListener(name, show);
  return node;
}

/**
 * The songs in sight, or those that were chosen, as a list: what the map shows, for eyes and hands that cannot use it.
 *
 * Returns {node, toggle}: where there is no room beside the map, the button opens and closes it.
 */
export function inViewList(stage, open) {
  let timer = 0;
  const set = (on) => {
    node.classList.toggle("is-open", on);
    toggle.setAttribute("aria-expanded", String(on));
    (on ? close : toggle).focus({ preventScroll: true });
  };
  const toggle = h("button", {
    class: "icon-button map-list-toggle", type: "button", "aria-label": "List of the songs in view", "aria-expanded": false, "aria-controls": "map-list",
    on: { click: () => set(!node.classList.contains("is-open")) },
  }, icon("queue"));
  const close = h("button", { class: "icon-button map-list-close", type: "button", "aria-label": "Close the list", on: { click: () => set(false) } }, icon("close"));
  const heading = h("h2", { id: "map-list-title", class: "map-list-title" }), list = h("ul", { class: "map-rows", role: "list" });
  const more = h("p", { class: "muted small-text map-list-more" });
  const all = h("button", { class: "button plain small", type: "button", on: { click: () => stage.choose(stage.inView(0).rows) } }, "Choose all");
  const node = h(
    "aside", { class: "map-list", id: "map-list", "aria-labelledby": "map-list-title" },
    h("div", { class: "map-list-head" }, heading, all, close), list, more,
  );
  node.addEventListener("keydown", (event) => { if (event.key === "Escape" && node.classList.contains("is-open")) { event.stopPropagation(); set(false); } });

  function choose(i) {
    if (node.classList.contains("is-open")) set(false);
    open(i);
  }

  function row(i) {
    const { columns } = stage, glow = (on) => () => stage.hover(on ? i : -1);
    return h("li", {}, h(
      "button", {
        type: "button", class: "map-row", "aria-label": `Play ${columns.fullName(i)}`,
        on: { click: () => choose(i), pointerenter: glow(true), focus: glow(true), pointerleave: glow(false), blur: glow(false) },
      },
      h("span", { class: "map-dot", vars: { "--dot": stage.colours.classes[stage.colours.of[i]].colour } }),
      h("span", { class: "map-row-names" }, h("span", { class: "ellipsis", dir: "auto" }, columns.title(i)),
        h("span", { class: "muted small-text ellipsis", dir: "auto" }, columns.artistName(i))),
    ));
  }

  function draw() {
    const picked = [...stage.chosen];
    const { rows, first } = picked.length ? { rows: picked, first: picked.slice(0, LISTED) } : stage.inView(LISTED);
    const many = count(rows.length, "song");
    heading.textContent = picked.length ? `${many} chosen` : rows.length === stage.columns.n ? `All ${many}` : `${many} in view`;
    all.hidden = !rows.length || picked.length > 0;
    replace(list, first.map(row));
    more.textContent = rows.length > first.length
      ? picked.length ? `The first ${LISTED} are listed.` : `The ${LISTED} nearest to the middle are listed. Come nearer to see others.`
      : rows.length ? "" : "No songs here. Move the map or press 0 to see all of it.";
  }

  const soon = () => { clearTimeout(timer); timer = setTimeout(draw, REST); };
  for (const name of ["view", "colours"]) stage.addEventListener(name, soon);
  stage.addEventListener("chosen", draw);
  stage.signal.addEventListener("abort", () => clearTimeout(timer));
  return { node, toggle };
}

/** The name of what the mouse is on. */
export function tip(stage) {
  const node = h("div", { class: "map-tip", "aria-hidden": true, hidden: true });
  stage.addEventListener("hover", ({ detail: { row, px, py } }) => {
    node.hidden = row < 0 || (!px && !py);
    if (node.hidden) return;
    const { columns, camera } = stage, facts = [columns.genres[columns.genre[row]], columns.years[row] || ""].filter(Boolean).join(" · ");
    replace(node, h("strong", { dir: "auto" }, columns.title(row)), h("span", { dir: "auto" }, columns.artistName(row)),
      facts && h("span", { class: "muted" }, facts));
    const x = px + 16 + node.offsetWidth > camera.width ? px - 14 - node.offsetWidth : px + 16;
    const y = py + 16 + node.offsetHeight > camera.height ? py - 12 - node.offsetHeight : py + 16;
    node.style.setProperty("transform", `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`);
  });
  return node;
}
