// A box that finds songs by words, such as "mellow acoustic".
//
//   wordsBox(app) -> node

import { get, isAbort } from "../../core/api.js";
import { announce, button, h, replace } from "../../core/dom.js";
import { count, percent } from "../../core/format.js";
import { player } from "../../player/player.js";
import { songList } from "../../songs/list.js";
import { command, typed } from "../library/empty.js";

const MOST = 20;

export const wordsBox = (app) =>
  h(
    "section",
    { class: "words", "aria-labelledby": "words-title" },
    h("h2", { id: "words-title" }, "Find by words"),
    app.status.has_words ? wordsForm(app) : howToGetWords(app),
  );

/** Until an encoder knows words: what finds songs by them, and the three commands that get it. */
function howToGetWords(app) {
  const steps = ["nearsong encoders install musicnn", typed(app, "encoders add", "musicnn"), typed(app, "scan")];
  return [
    h(
      "p",
      { class: "muted" },
      "Finds songs by words such as “mellow acoustic, no rap”. It needs an encoder that hears them: musicnn, " +
        "a download of 29 MB. Run in a terminal:",
    ),
    command(steps.join(" && ")),
  ];
}

function wordsForm(app) {
  const input = h("input", {
    id: "find-words",
    class: "input",
    type: "search",
    maxlength: 200,
    placeholder: "mellow acoustic, no rap",
    autocomplete: "off",
  });
  const box = h("div", { class: "words-box", id: "words-found" });
  const find = h("button", { class: "button", type: "submit" }, "Find");

  async function ask() {
    const words = input.value.trim();
    if (!words) return replace(box);
    try {
      const found = await get("/find", { words, n: MOST }, { signal: app.signal });
      if (input.value.trim() === words) draw(box, found);
    } catch (error) {
      if (!isAbort(error)) replace(box, h("p", { class: "note warn" }, error.detail || "Something went wrong."));
    }
  }

  return [
    h(
      "form",
      {
        class: "cluster",
        role: "search",
        on: {
          submit: (event) => {
            event.preventDefault();
            ask();
          },
        },
      },
      h("label", { class: "visually-hidden", for: "find-words" }, "Words that describe the music"),
      input,
      find,
    ),
    box,
  ];
}

function draw(box, found) {
  const songs = found.songs.map((item) => item.song);
  const tags = [...found.wanted, ...found.unwanted.map((tag) => `not ${tag}`)];
  announce(count(songs.length, "song"));
  replace(
    box,
    found.notes.map((note) => h("p", { class: "note" }, note)),
    h(
      "div",
      { class: "column-head" },
      h("h3", {}, tags.join(", ")),
      songs.length > 1 && button("Play all", () => player.play(songs), { class: "button quiet small", icon: "play" }),
    ),
    songs.length
      ? songList(songs, { ordered: true, label: tags.join(", "), row: (_song, i) => rowOf(found.songs[i]) })
      : h("p", { class: "muted" }, "No songs."),
  );
}

function rowOf({ tags, share }) {
  const chances = Object.entries(tags).map(([tag, chance]) => `${tag} ${percent(chance)}`);
  return {
    note: h(
      "span",
      { class: "muted small-text", title: `The words fit ${percent(share)} of the library less.` },
      chances.join(" · "),
    ),
  };
}
