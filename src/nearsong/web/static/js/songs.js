// Songs as rows, covers and menus; every view that lists songs uses these.
//
//   songList(songs, {label, ordered, row, queue}) -> <ul class="song-list"> (<ol> if ordered) of songRow; playing one goes on with the rest.
//       row(song, i) -> options of its songRow; queue: what plays instead of `songs`. Arrow up / down moves between rows.
//   songRow(song, {note, marks, actions, onPlay, details, menu, below}) -> <li class="song-row" data-song-id>
//       note     string or node at the right (a bar, a date ...)     actions  nodes before the menu
//       marks    nodes beside the artist's name (class "mark")
//       onPlay   f(song); default: plays this song alone             details  true: album, year, plays as columns (library)
//       menu     false: none; an array: more items on top of the usual ones [{icon, label, run}]
//       below    node that opens under the row (a why panel)
//   cover(song, size, {eager}) -> <img> of exactly size x size CSS pixels; never a broken picture
//   songMenu(song, items) -> button "More for TITLE" that opens a menu
//   openMenu(button, items) -> a menu at a button: items [{icon, label, run}] or [{icon, label, href}]
//   songLink(song), artistLink(artist) -> <a>;   songHref(id), mapHref(id), artistHref(name) -> hash
//   startPlaylist(song): a playlist from this song; one that is being made gets it as one more song to start from
//   moveByArrows(list): arrow up / down between the rows of any <li> list, staying on the same control

import { h, icon } from "./dom.js";
import { songUrl } from "./api.js";
import { artistOf, brief, time, titleOf } from "./format.js";
import { isCurrent, player } from "./player.js";
import { say } from "./toast.js";

export const songHref = (id) => `#/song/${Number(id)}`;
export const mapHref = (id) => `#/map?song=${Number(id)}`;
export const artistHref = (name) => `#/?${name.length > 300 ? "search" : "artist"}=${encodeURIComponent(name.slice(0, 300))}`; // longer than the service takes
export const songLink = (song) => h(song.src ? "span" : "a", { class: "row-title", href: song.src ? null : songHref(song.id) }, titleOf(song));
export const artistLink = (artist) => h("a", { class: "artist-link", href: artistHref(artist) }, artistOf({ artist }));

export function cover(song, size, { eager = false } = {}) {
  if (song.src) return h("span", { class: "cover cover-none", vars: { "--size": `${size}px` } }, icon("wave"));
  const pixels = Math.min(1000, size * 2);
  const picture = h("img", {
    class: "cover", alt: "", width: size, height: size, decoding: "async", loading: eager ? "eager" : "lazy", vars: { "--size": `${size}px` },
    on: { error: () => picture.replaceWith(h("span", { class: "cover cover-none", vars: { "--size": `${size}px` } }, icon("note"))) },
  });
  picture.src = songUrl.cover(song.id, pixels);
  return picture;
}

export function songRow(song, { note, marks, actions = [], onPlay, details = false, menu, below } = {}) {
  const start = () => {
    if (isCurrent(song)) player.toggle();
    else if (onPlay) onPlay(song);
    else player.play([song]);
  };
  const row = h(
    "li", { class: ["song-row", details && "with-details"], dataset: { songId: song.id ?? "" } },
    h(
      "div", { class: "row-line", on: { click: (event) => event.target.closest("a, button, input, select, label") || start() } },
      h("button", { class: "row-play", type: "button", "aria-label": `Play ${titleOf(song)} by ${artistOf(song)}`, on: { click: start } },
        cover(song, 48), h("span", { class: "row-play-sign" }, icon("play"), icon("pause"))),
      h("div", { class: "row-names" }, songLink(song),
        h("div", { class: "row-second" }, h("span", { class: "row-artist" }, song.src ? song.artist : artistLink(song.artist)), marks)),
      details && h("span", { class: "row-album ellipsis", title: song.album || null }, song.album),
      details && h("span", { class: "row-year number" }, song.year || ""),
      note && h("div", { class: "row-note" }, note),
      h("span", { class: "row-time number" }, time(song.seconds)),
      h("div", { class: "row-actions" }, actions, menu !== false && songMenu(song, menu || [])),
    ),
    below,
  );
  mark(row, song);
  rows.set(row, song);
  return row;
}

export function songList(songs, { label, ordered = false, row = () => ({}), queue = songs } = {}) {
  const list = h(ordered ? "ol" : "ul", { class: "song-list", "aria-label": label, role: "list" });
  list.append(...songs.map((song, i) => songRow(song, { onPlay: () => player.play(queue, Math.max(queue.indexOf(song), 0)), ...row(song, i) })));
  moveByArrows(list);
  return list;
}

export function moveByArrows(list) {
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey || event.target.matches("input, select, textarea, [role=menuitem]")) return;
    const from = event.target.closest("li");
    if (!from || from.parentElement !== list) return;
    const to = step > 0 ? from.nextElementSibling : from.previousElementSibling;
    if (!to) return;
    event.preventDefault();
    const name = ["row-play", "row-title", "row-why", "row-reseed", "row-more"].find((one) => event.target.classList.contains(one));
    (to.querySelector(name ? `.${name}` : "button, a") || to.querySelector("button, a"))?.focus();
  });
}

// rows on the page show what plays; a row that left the page is forgotten with it
const rows = new WeakMap();

function mark(row, song) {
  const mine = isCurrent(song);
  row.classList.toggle("is-current", mine);
  row.classList.toggle("is-playing", mine && player.playing);
  const button = row.querySelector(".row-play");
  const name = `${mine && player.playing ? "Pause" : "Play"} ${titleOf(song)} by ${artistOf(song)}`;
  if (button && button.getAttribute("aria-label") !== name) button.setAttribute("aria-label", name);
}

player.addEventListener("change", () => {
  for (const row of document.querySelectorAll(".song-row")) {
    const song = rows.get(row);
    if (song) mark(row, song);
  }
});

export async function startPlaylist(song) {
  const { draft } = await import("./draft.js");
  const others = draft.state.mode === "around" && draft.state.seeds.some((seed) => seed.id !== song.id);
  draft.addSeed(song);
  location.hash = "#/playlists";
  const only = () => {
    draft.restart();
    draft.addSeed(song);
  };
  if (others) say(`“${brief(titleOf(song))}” is one of the songs your playlist starts from.`, { action: { label: "Only this one", run: only } });
}

export function songMenu(song, items = []) {
  const usual = [
    { icon: "playlist", label: "Make a playlist from this", run: () => startPlaylist(song) },
    { icon: "next", label: "Play next", run: () => { player.playNext(song); say(`“${brief(titleOf(song))}” plays next.`); } },
    { icon: "queue", label: "Add to the queue", run: () => { player.add([song]); say(`“${brief(titleOf(song))}” is in the queue.`); } },
    { icon: "people", label: song.artist ? `All by ${brief(song.artist, 28)}` : "All without an artist", href: artistHref(song.artist) },
    { icon: "map", label: "Show on the map", href: mapHref(song.id) },
  ];
  const button = h("button", {
    class: "icon-button row-more", type: "button", "aria-label": `More for ${titleOf(song)}`, "aria-haspopup": "menu", "aria-expanded": false,
    on: { click: () => openMenu(button, [{ icon: "near", label: "Show what is near it", href: songHref(song.id) }, ...items, ...usual]
      .filter((item) => !item.href || item.href !== location.hash)) },
  }, icon("more"));
  return button;
}

let shutMenu = null;

export function openMenu(button, items) {
  const again = button.getAttribute("aria-expanded") === "true";
  shutMenu?.();
  if (again) return;
  const entries = items.map((item) => h(
    item.href ? "a" : "button",
    {
      class: "menu-item", role: "menuitem", tabindex: "-1", href: item.href, type: item.href ? null : "button",
      on: { click: () => { shut(true); item.run?.(); } },
    },
    icon(item.icon || "right"), item.label,
  ));
  const menu = h("div", { class: "menu", role: "menu", "aria-label": button.getAttribute("aria-label"), on: { keydown: keys } }, entries);
  const outside = (event) => menu.contains(event.target) || button.contains(event.target) || shut(false);
  const moved = () => shut(false);

  function shut(back) {
    menu.remove();
    button.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside, true);
    window.removeEventListener("resize", moved);
    window.removeEventListener("scroll", moved, true);
    window.removeEventListener("hashchange", moved);
    shutMenu = null;
    if (back) button.focus({ preventScroll: true });
  }

  function keys(event) {
    const here = entries.indexOf(document.activeElement);
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: -1 }[event.key];
    if (to !== undefined) entries.at(to % entries.length).focus();
    else if (event.key === "Escape") shut(true);
    else if (event.key === "Tab") return shut(true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  document.body.append(menu);
  place(menu, button);
  button.setAttribute("aria-expanded", "true");
  shutMenu = () => shut(false);
  entries[0]?.focus({ preventScroll: true });
  document.addEventListener("pointerdown", outside, true);
  window.addEventListener("resize", moved);
  window.addEventListener("scroll", moved, true);
  window.addEventListener("hashchange", moved);
}

function place(menu, button) {
  const [at, size] = [button.getBoundingClientRect(), menu.getBoundingClientRect()];
  const left = Math.max(8, Math.min(at.right - size.width, innerWidth - size.width - 8));
  const below = at.bottom + size.height + 8 < innerHeight;
  menu.style.setProperty("left", `${left}px`);
  menu.style.setProperty("top", `${below ? at.bottom + 4 : Math.max(8, at.top - size.height - 4)}px`);
}
