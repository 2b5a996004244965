// The queue survives a reload, and so do shuffle and repeat. What a click has replaced can be had back.
//
//   rememberPlayer(): restores the queue, paused at its position, and stores changes

import { store, stored, storedSong } from "../core/storage.js";
import { say } from "../core/toasts.js";
import { player } from "./player.js";
import { radio } from "./radio.js";

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
  const indexOf = new Map(around.map((song, at) => [song, at]));
  const indices = (songs) => songs.map((song) => indexOf.get(song)).filter((at) => at !== undefined);
  store(KEY, {
    songs: around.map(storedSong),
    plain: player.shuffle ? indices(player.plain) : null,
    byHand: indices(player.snapshot().byHand),
    index: around.indexOf(now),
    position: player.position,
    shuffle: player.shuffle,
    repeat: player.repeat,
    from: player.from,
  });
}

function read() {
  const kept = stored(KEY);
  if (!kept?.songs?.[kept.index]?.id) return;
  player.restore({
    ...kept,
    position: Number(kept.position) || 0,
    plain: kept.plain?.map((at) => kept.songs[at]),
    byHand: kept.byHand?.map((at) => kept.songs[at]),
  });
}

/** A radio, and songs that the listener queued, cannot be had again with a click as a list can. */
function offerBack(before) {
  if (!radio.fills(before) && !before.byHand.length) return;
  const back = () => {
    player.restore(before);
    if (before.playing) player.toggle();
  };
  say("Queue replaced.", { seconds: 9, action: { label: "Undo", run: back } });
}

export function rememberPlayer() {
  let timer = 0;
  read();
  player.addEventListener("replaced", ({ detail }) => offerBack(detail));
  player.addEventListener("change", () => {
    clearTimeout(timer);
    timer = setTimeout(write, IDLE_MILLISECONDS);
  });
  window.addEventListener("pagehide", write);
}
