// Home: what to go on with, what is new, what is near what the listener plays, what was forgotten, and the map.
// Sections without anything are absent. What the window shows is drawn first; the rest of its rows, and the sections
// below, one after the other, when that is painted. Until then #home is aria-busy.

import { get, isAbort } from "../core/api.js";
import { h, icon, iconButton, replace } from "../core/dom.js";
import { count, longTime, titleOf } from "../core/format.js";
import { nextPaint } from "../core/idle.js";
import { skeleton } from "../widgets/skeleton.js";
import { albumTile, songTile, tileRow } from "../albums/tiles.js";
import { player } from "../player/player.js";
import { cover } from "../songs/cover.js";
import { songHref } from "../songs/links.js";
import { mapThumbnail } from "./home/map_thumbnail.js";
import { emptyLibrary, nextStep } from "./library/empty.js";
import { scanNote } from "./library/scan_note.js";

const SECTION_PIXELS = 280; // of height, at least
const TILE_PIXELS = 148; // of width with the gap beside it, at least
const PATIENCE_MILLISECONDS = 100; // before what is not there yet is outlined

export async function show(root, _params, app) {
  app.title("Home");
  const { signal } = app;
  const asked = get("/home", {}, { signal });
  asked.catch(() => {}); // thrown below, where it is awaited
  const status = await app.someStatus();
  if (!status.songs) return emptyLibrary(root, app);
  const early = await Promise.race([asked, pause(PATIENCE_MILLISECONDS)]);
  if (signal.aborted) return null;
  const lead = h("span", {}, count(status.songs, "song"));
  const room = { sections: Math.ceil(innerHeight / SECTION_PIXELS), tiles: Math.ceil(root.clientWidth / TILE_PIXELS) };
  const box = h("div", { class: "home", id: "home", "aria-busy": true });
  if (!early) replace(box, skeleton("cards", 6), skeleton("cards", 6));
  const advice = h("div", { class: "library-advice" }, nextStep(app));
  const scan = scanNote(app);
  const load = (home) => {
    const { songs, albums, artists } = home.counts;
    const parts = [count(songs, "song"), count(albums, "album"), count(artists, "artist"), longTime(status.seconds)];
    lead.textContent = parts.filter(Boolean).join(" · ");
    fill(box, sections(home, status), room, signal).catch(report);
  };
  if (early) load(early);
  replace(root, app.heading("Home", { lead }), scan.node, advice, box);
  let step = status.step;
  const again = () => {
    if (app.status.step === step) return;
    step = app.status.step;
    replace(advice, nextStep(app));
  };
  app.events.addEventListener("status", again);
  if (!early) load(await asked);
  return () => {
    scan.stop();
    app.events.removeEventListener("status", again);
  };
}

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds, null));
const report = (error) => !isAbort(error) && error.name !== "ApiError" && console.error(error);

/** Draw what the window has room for, then the rest of these rows and the other sections, and the map. */
async function fill(box, all, room, signal) {
  const seen = all.slice(0, room.sections).map((draw) => draw(room.tiles));
  replace(box, ...seen.map(([node]) => node));
  const below = all.slice(room.sections).map((draw) => () => box.append(draw(Infinity)[0]));
  const steps = [...seen.map(([, finish]) => finish), ...below];
  for (const step of steps) {
    await nextPaint();
    if (signal.aborted) return;
    step();
  }
  const map = h("div", { class: "home-map", hidden: true });
  box.append(map);
  box.removeAttribute("aria-busy");
  await mapThumbnail(map, signal);
}

/** Functions that draw what has something: draw(n) -> [a section with n tiles, finish() draws the others]. */
function sections(home, status) {
  const near = home.for_you.map((one) => one.song);
  const fresh = home.unplayed.map((one) => one.song);
  const recommended = [...home.for_you, ...home.unplayed].filter((one) => one.because);
  const because = new Map(recommended.map((one) => [one.song, one.is_near && one.because]));
  const albums = (list) => list.map((one) => () => albumTile(one));
  const songs = (list) => list.map((song) => () => songTile(song, { queue: list, more: reason(because.get(song)) }));
  const goOn = [...(home.queue ? [() => queueTile(home.queue)] : []), ...albums(home.played)];
  const all = [
    [home.queue || home.played.length, "continue", "Continue", goOn],
    [home.added.length, "added", "Recently added", albums(home.added), "#/library/albums?sort=newest"],
    [near.length, "for-you", because.size ? "For you" : popular(near, status), songs(near), "#/for-you"],
    [home.hearts.length, "hearts", "Your hearts", songs(home.hearts), "#/library?hearts=1"],
    [fresh.length, "unplayed", "Never played, close to what you love", songs(fresh)],
    [home.forgotten.length, "forgotten", "Not heard for a while", songs(home.forgotten)],
  ];
  return all.filter(([has]) => has).map(([, ...one]) => (n) => section(n, ...one));
}

/** What songs for a newcomer are; where histories name no titles, nobody knows how often a song was played. */
function popular(songs, { played }) {
  if (!songs.every((song) => song.plays)) return "By artists that most people here play";
  return played ? "Played most here" : "Played most in the imported histories";
}

const reason = (song) => song && `Like ${titleOf(song)}`;

function section(n, name, title, tiles, href) {
  const row = tileRow(
    tiles.slice(0, n).map((one) => one()),
    title,
  );
  const node = h(
    "section",
    { class: "home-section", id: `home-${name}`, "aria-labelledby": `home-${name}-title` },
    h(
      "div",
      { class: "home-section-head" },
      h("h2", { id: `home-${name}-title` }, title),
      href && h("a", { class: "home-all", href, "aria-label": `${title}: show all` }, "Show all", icon("right")),
    ),
    row,
  );
  return [node, () => row.append(...tiles.slice(n).map((one) => one()))];
}

function queueTile(queue) {
  const [song] = queue.songs;
  const start = () => {
    player.play(queue.songs, { shuffle: false, from: { label: "Continued" } });
    player.seek(queue.position);
  };
  const whose = queue.changed_by ? ` from ${queue.changed_by}` : "";
  return h(
    "li",
    { class: "tile is-queue" },
    h(
      "div",
      { class: "tile-cover" },
      h("a", { href: songHref(song.id), tabindex: "-1", "aria-hidden": true }, cover(song, 180, { whenSeen: true })),
      iconButton("play", `Continue the queue${whose}`, start, { class: "tile-play" }),
    ),
    h("a", { class: "tile-name", href: songHref(song.id), title: titleOf(song) }, titleOf(song)),
    h("p", { class: "tile-line" }, `${count(queue.song_count, "song")} queued`),
    queue.changed_by && h("p", { class: "tile-line", title: queue.changed_by }, `from ${queue.changed_by}`),
  );
}
