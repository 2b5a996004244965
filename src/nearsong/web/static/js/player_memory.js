// What plays and what comes next outlive a reload of the page: kept as long as the tab is open (sessionStorage).
//
//   rememberPlayer(): brings back what was there, paused where it was, and keeps what comes

import { player } from "./player.js";

const KEY = "nearsong.queue";
const [BEFORE, AFTER] = [50, 450]; // songs kept around the one that plays
const REST = 400; // milliseconds without a change before it is written

const brief = ({ id, title, artist, album, year, genre, seconds, plays }) => ({ id, title, artist, album, year, genre, seconds, plays });

function write() {
  const now = player.current;
  if (!now || now.src) return; // a dropped file is gone with the page
  const around = player.queue.slice(Math.max(0, player.index - BEFORE), player.index + AFTER).filter((song) => !song.src);
  const kept = { songs: around.map(brief), index: around.indexOf(now), position: player.position };
  try { sessionStorage.setItem(KEY, JSON.stringify(kept)); } catch { /* full or forbidden: it lives until a reload */ }
}

function read() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY));
    if (kept?.songs?.[kept.index]?.id) player.restore(kept.songs, kept.index, Number(kept.position) || 0);
  } catch { /* what was kept cannot be read: begin anew */ }
}

export function rememberPlayer() {
  let timer = 0;
  read();
  player.addEventListener("change", () => {
    clearTimeout(timer);
    timer = setTimeout(write, REST);
  });
  window.addEventListener("pagehide", write);
}
