// Reports plays and skips to the service for the next training, unless it was started with --no-plays.
//
//   notePlays(app)              starts reporting
//   playedNote(status) -> node  whether plays are recorded

import { post } from "../core/api.js";
import { h } from "../core/dom.js";
import { count } from "../core/format.js";
import { player } from "./player.js";

const MAX_SECONDS = 86_400; // limit of the API

export function notePlays(app) {
  const report =
    (path) =>
    ({ detail: { song, seconds } }) => {
      if (song.src || !app.status?.records_plays) return; // an uploaded file is not in the library
      post(path, { song_id: song.id, seconds: Math.min(seconds, MAX_SECONDS) }).catch(() => {
        /* one play less: nothing to disturb anyone with */
      });
    };
  player.addEventListener("listened", report("/plays"));
  player.addEventListener("skipped", report("/skips"));
}

export function playedNote({ records_plays: kept, played }) {
  const off = h("code", {}, "nearsong serve --no-plays");
  const words = kept
    ? [
        played
          ? `${count(played, "play")} recorded here and in your players, for the next training`
          : "Plays here and in your players are recorded for the next training",
        "; ",
        off,
        " turns this off.",
      ]
    : [
        "Plays are not recorded: the server was started with ",
        off,
        played ? `. ${count(played, "earlier play is", "earlier plays are")} still used.` : ".",
      ];
  return h("p", { class: "muted small-text", id: "played-note" }, words);
}
