// songMenu(song, items, {less}) -> button "More for TITLE" that opens the menu of a song; less(song): "Less like this"
// startPlaylist(song): a playlist from this song, or one more seed of the current draft

import { h, icon } from "../core/dom.js";
import { brief, titleOf } from "../core/format.js";
import { openMenu } from "../core/menu.js";
import { say } from "../core/toasts.js";
import { player } from "../player/player.js";
import { radio } from "../player/radio.js";
import { hearts, lessLike, toggleHeart } from "./hearts.js";
import { artistHref, mapHref, songHref } from "./links.js";

export async function startPlaylist(song) {
  const { draft } = await import("../views/playlists/draft.js");
  const others = draft.state.mode === "around" && draft.state.seeds.some((seed) => seed.id !== song.id);
  draft.addSeed(song);
  location.hash = "#/playlists";
  const only = () => {
    draft.restart();
    draft.addSeed(song);
  };
  if (others)
    say(`“${brief(titleOf(song))}” is now one of the seeds of your playlist.`, {
      action: { label: "Use only this song", run: only },
    });
}

export function songMenu(song, items = [], { less = lessLike } = {}) {
  const usual = [
    { icon: "radio", label: "Start radio", run: () => radio.start([song]) },
    { icon: "playlist", label: "Create playlist", run: () => startPlaylist(song) },
    {
      icon: "next",
      label: "Play next",
      run: () => {
        player.playNext(song);
        say(`“${brief(titleOf(song))}” plays next.`);
      },
    },
    {
      icon: "queue",
      label: "Add to queue",
      run: () => {
        player.add([song]);
        say(`“${brief(titleOf(song))}” added to the queue.`);
      },
    },
    {
      icon: "people",
      label: song.artist ? `More by ${brief(song.artist, 28)}` : "Songs without an artist",
      href: artistHref(song.artist),
    },
    { icon: "map", label: "Show on map", href: mapHref(song.id) },
  ];
  const opinions = () => [
    { icon: "heart", label: hearts.has(song) ? "Remove heart" : "Give a heart", run: () => toggleHeart(song) },
    { icon: "less", label: "Less like this", run: () => less(song) },
  ];
  const button = h(
    "button",
    {
      class: "icon-button row-more",
      type: "button",
      "aria-label": `More for ${titleOf(song)}`,
      "aria-haspopup": "menu",
      "aria-expanded": false,
      on: {
        click: () =>
          openMenu(
            button,
            [
              { icon: "near", label: "Similar songs", href: songHref(song.id) },
              ...items,
              ...usual,
              ...(hearts.shown ? opinions() : []),
            ].filter((item) => !item.href || item.href !== location.hash),
          ),
      },
    },
    icon("more"),
  );
  return button;
}
