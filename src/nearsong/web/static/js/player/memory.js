// The queue survives a reload: stored for the tab.
//
//   rememberPlayer(): restores the queue, paused at its position, and stores changes

import { store, stored, storedSong } from "../core/storage.js";
import { player } from "./player.js";

const KEY = "nearsong.queue";
const MAX_SONGS_BEFORE = 50;
const MAX_SONGS_AFTER = 450; // around the current song
const IDLE_MILLISECONDS = 400; // without a change before it is stored

function write() {
  const now = player.current;
  if (!now || now.src) return; // an uploaded file is not available after a reload
  const around = player.queue
    .slice(Math.max(0, player.index - MAX_SONGS_BEFORE), player.index + MAX_SONGS_AFTER)
    .filter((song) => !song.src);
  const kept = { songs: around.map(storedSong), index: around.indexOf(now), position: player.position };
  store(KEY, kept);
}

function read() {
  const kept = stored(KEY);
  if (kept?.songs?.[kept.index]?.id) player.restore(kept.songs, kept.index, Number(kept.position) || 0);
}

export function rememberPlayer() {
  let timer = 0;
  read();
  player.addEventListener("change", () => {
    clearTimeout(timer);
    timer = setTimeout(write, IDLE_MILLISECONDS);
  });
  window.addEventListener("pagehide", write);
}
