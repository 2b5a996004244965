// albumHead({song, title, line, facts, buttons, kind}) -> the head of the page of an album or artist
// playButtons(songs, {from, radio}) -> play, shuffle, radio, queue and playlist; radio: what startRadio takes
// addAll(songs): to the end of the queue, and say so

import { button, h } from "../core/dom.js";
import { count } from "../core/format.js";
import { say } from "../core/toasts.js";
import { player } from "../player/player.js";
import { startRadio } from "../player/radio.js";
import { choosePlaylist } from "../songs/add_to_playlist.js";
import { cover } from "../songs/cover.js";

const LONG_TITLE_CHARACTERS = 40;

export function albumHead({ song, title, line, facts, buttons, kind }) {
  return h(
    "header",
    { class: ["song-head", "album-head", kind] },
    h("div", { class: "song-cover" }, cover(song, 220, { eager: true })),
    h(
      "div",
      { class: "song-facts" },
      h("h1", { tabindex: "-1", class: title.length > LONG_TITLE_CHARACTERS ? "is-long" : null }, title),
      line && h("p", { class: "song-artist" }, line),
      h(
        "ul",
        { class: "fact-line", role: "list", "aria-label": "Facts" },
        facts.filter(Boolean).map((fact) => h("li", {}, fact)),
      ),
      h("div", { class: "cluster song-buttons" }, buttons),
    ),
  );
}

export const playButtons = (songs, { from, radio }) => [
  button("Play all", () => player.play(songs, { shuffle: false, from }), { id: "play-all", icon: "play" }),
  button("Shuffle", () => player.play(songs, { shuffle: true, from }), {
    id: "shuffle-all",
    class: "button quiet",
    icon: "shuffle",
  }),
  button("Start radio", () => startRadio(radio), { id: "start-radio", class: "button quiet", icon: "radio" }),
  button("Add to queue", () => addAll(songs), { id: "queue-all", class: "button quiet", icon: "queue" }),
  playlistButton(songs),
];

function playlistButton(songs) {
  const node = button("Add to playlist", () => choosePlaylist(node, songs), {
    id: "add-all-to-playlist",
    class: "button quiet",
    icon: "add",
  });
  node.setAttribute("aria-haspopup", "menu");
  return node;
}

export function addAll(songs) {
  player.add(songs);
  say(`${count(songs.length, "song")} added to the queue.`);
}

export const albumSection = (title, content, id) =>
  h("section", { class: "home-section", id, "aria-labelledby": `${id}-title` }, [
    h("h2", { id: `${id}-title` }, title),
    content,
  ]);
