// Home: what to go on with, what is new, what is near what the listener plays, what was forgotten, and the map.
// Sections without anything are absent.

import { get, isAbort } from "../core/api.js";
import { h, icon, iconButton, replace } from "../core/dom.js";
import { count, longTime, titleOf } from "../core/format.js";
import { skeleton } from "../widgets/skeleton.js";
import { albumTile, songTile, tileRow } from "../albums/tiles.js";
import { player } from "../player/player.js";
import { cover } from "../songs/cover.js";
import { songHref } from "../songs/links.js";
import { mapThumbnail } from "./home/map_thumbnail.js";
import { emptyLibrary, nextStep } from "./library/empty.js";
import { scanNote } from "./library/scan_note.js";

export async function show(root, _params, app) {
  app.title("Home");
  const { signal } = app;
  const asked = get("/home", {}, { signal });
  asked.catch(() => {}); // thrown below, where it is awaited
  const status = await app.someStatus();
  if (!status.songs) return emptyLibrary(root, app);
  const lead = h("span", {}, count(status.songs, "song"));
  const box = h("div", { class: "home", id: "home" }, skeleton("cards", 6), skeleton("cards", 6));
  const advice = h("div", { class: "library-advice" }, nextStep(app));
  const scan = scanNote(app);
  replace(root, app.heading("Home", { lead }), scan.node, advice, box);
  const load = async () => {
    const home = await asked;
    const { songs, albums, artists } = home.counts;
    const parts = [count(songs, "song"), count(albums, "album"), count(artists, "artist"), longTime(status.seconds)];
    lead.textContent = parts.filter(Boolean).join(" · ");
    const map = h("div", { class: "home-map", hidden: true });
    replace(box, sections(home), map);
    mapThumbnail(map, signal).catch((error) => !isAbort(error) && error.name !== "ApiError" && console.error(error));
  };
  let step = status.step;
  const again = () => {
    if (app.status.step === step) return;
    step = app.status.step;
    replace(advice, nextStep(app));
  };
  app.events.addEventListener("status", again);
  await load();
  return () => {
    scan.stop();
    app.events.removeEventListener("status", again);
  };
}

function sections(home) {
  const near = home.for_you.map((one) => one.song);
  const fresh = home.unplayed.map((one) => one.song);
  const recommended = [...home.for_you, ...home.unplayed].filter((one) => one.because);
  const because = new Map(recommended.map((one) => [one.song, one.is_near && one.because]));
  const songs = (list) => list.map((song) => songTile(song, { queue: list, more: reason(because.get(song)) }));
  return [
    section("continue", "Continue", [home.queue && queueTile(home.queue), home.played.map((one) => albumTile(one))]),
    section("added", "Recently added", home.added.map((one) => albumTile(one)), {
      href: "#/library/albums?sort=newest",
    }),
    section("for-you", because.size ? "For you" : "Played most here", songs(near), { href: "#/for-you" }),
    section("unplayed", "Never played, close to what you love", songs(fresh)),
    section("forgotten", "Not heard for a while", songs(home.forgotten)),
  ];
}

const reason = (song) => song && `Like ${titleOf(song)}`;

function section(name, title, tiles, { href } = {}) {
  const shown = tiles.flat().filter(Boolean);
  if (!shown.length) return null;
  return h(
    "section",
    { class: "home-section", id: `home-${name}`, "aria-labelledby": `home-${name}-title` },
    h(
      "div",
      { class: "home-section-head" },
      h("h2", { id: `home-${name}-title` }, title),
      href && h("a", { class: "home-all", href, "aria-label": `${title}: show all` }, "Show all", icon("right")),
    ),
    tileRow(shown, title),
  );
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
      h("a", { href: songHref(song.id), tabindex: "-1", "aria-hidden": true }, cover(song, 180)),
      iconButton("play", `Continue the queue${whose}`, start, { class: "tile-play" }),
    ),
    h("a", { class: "tile-name", href: songHref(song.id), title: titleOf(song) }, titleOf(song)),
    h("p", { class: "tile-line" }, `${count(queue.song_count, "song")} queued${whose}`),
  );
}
