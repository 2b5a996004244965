// The controls of the lock screen, of headphones and of the keyboard's media keys (Media Session).
//
//   startMediaSession(): tells the browser what plays, and does what is pressed there

import { songUrl } from "../core/api.js";
import { titleOf } from "../core/format.js";
import { player } from "./player.js";

const ARTWORK_PIXELS = [96, 256, 512];
const STEP_SECONDS = 10;

let shown = null;

const session = "mediaSession" in navigator ? navigator.mediaSession : null;

const KEYS = {
  play: () => player.playing || player.toggle(),
  pause: () => player.pause(),
  stop: () => player.pause(),
  nexttrack: () => player.next(),
  previoustrack: () => player.previous(),
  seekto: ({ seekTime }) => player.seek(seekTime),
  seekforward: ({ seekOffset }) => player.seek(player.position + (seekOffset || STEP_SECONDS)),
  seekbackward: ({ seekOffset }) => player.seek(player.position - (seekOffset || STEP_SECONDS)),
};

export function startMediaSession() {
  if (!session) return;
  for (const [name, run] of Object.entries(KEYS)) {
    try {
      session.setActionHandler(name, run);
    } catch {
      /* an older browser without this key */
    }
  }
  player.addEventListener("change", describe);
  player.addEventListener("time", tellPosition);
  describe();
}

function describe() {
  const song = player.current;
  session.playbackState = !song ? "none" : player.playing ? "playing" : "paused";
  if (song && song !== shown) {
    shown = song;
    session.metadata = new MediaMetadata({
      title: titleOf(song),
      artist: song.artist,
      album: song.album || "",
      artwork: song.src
        ? []
        : ARTWORK_PIXELS.map((side) => ({ src: songUrl.cover(song.id, side), sizes: `${side}x${side}` })),
    });
  }
  tellPosition();
}

function tellPosition() {
  const { duration, position } = player;
  if (!session.setPositionState || !(duration > 0)) return;
  session.setPositionState({ duration, position: Math.min(position, duration), playbackRate: 1 });
}
