// What is heard on the page is told to the service, which learns from it; unless it was started with --no-plays.
//
//   notePlays(app)              from now on
//   playedNote(status) -> node  what becomes of plays, in one sentence

import { post } from "./api.js";
import { h } from "./dom.js";
import { count } from "./format.js";
import { player } from "./player.js";

const DAY = 86_400; // seconds: one who pauses for longer has begun anew

export function notePlays(app) {
  player.addEventListener("heard", ({ detail: { song, seconds } }) => {
    if (song.src || !app.status?.keeps_plays) return; // a dropped file is no song of the library
    post("/plays", { song_id: song.id, seconds: Math.min(seconds, DAY) }).catch(() => { /* one play less: nothing to disturb anyone with */ });
  });
}

export function playedNote({ keeps_plays: kept, played }) {
  const off = h("code", {}, "nearsong serve --no-plays");
  const words = kept ? [
    played ? `${count(played, "play was", "plays were")} noted here and in your players, and ${played === 1 ? "counts" : "count"} when it next learns`
      : "What you play here and in your players is noted, and counts when it next learns", "; ", off, " switches that off.",
  ] : ["What you play is not noted: this was started with ", off,
    played ? `. ${count(played, "play that was", "plays that were")} noted before still ${played === 1 ? "counts" : "count"}.` : "."];
  return h("p", { class: "muted small-text", id: "played-note" }, words);
}
