// songMenu(song, items, {less}) -> button "More for TITLE" that opens the menu of a song; less(song): "Less like this"
// startPlaylist(song): a new playlist from this song, or one more seed of one that was not saved

import { h, icon } from "../core/dom.js";
import { brief, titleOf } from "../core/format.js";
import { openMenu } from "../widgets/menu.js";
import { say } from "../core/toasts.js";
import { player } from "../player/player.js";
import { startRadio } from "../player/radio.js";
import { hearts, lessLike, toggleHeart } from "./hearts.js";
import { albumHref, artistHref, mapHref, songHref } from "./links.js";

export async function startPlaylist(song) {
  const { draft } = await import("../views/playlists/draft.js");
  const { undoAction } = await import("../views/playlists/rows.js");
  const title = brief(titleOf(song));
  const others = draft.state.mode === "around" && draft.state.seeds.some((seed) => seed.id !== song.id);
  const isNew = !draft.growsFromSeeds;
  if (isNew) draft.startFrom(song); // what is saved, or was made by hand, is not to be overwritten
  else draft.addSeed(song);
  location.hash = "#/playlists";
  if (isNew) say(`New playlist from “${title}”.`, { action: undoAction() });
  else if (others)
    say(`“${title}” is now one of the seeds of your playlist.`, {
      action: { label: "Use only this song", run: () => draft.startFrom(song) },
    });
}

async function addToPlaylist(button, song) {
  const { choosePlaylist } = await import("./add_to_playlist.js");
  choosePlaylist(button, [song]);
}

export function songMenu(song, items = [], { less = lessLike } = {}) {
  const usual = [
    { icon: "radio", label: "Start radio", run: () => startRadio({ songs: [song] }) },
    { icon: "playlist", label: "Create playlist", run: () => startPlaylist(song) },
    { icon: "add", label: "Add to playlist", run: () => addToPlaylist(button, song) },
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
      label: song.artist ? `Go to ${brief(song.artist, 28)}` : "Songs without an artist",
      href: artistHref(song),
    },
    ...(song.album ? [{ icon: "album", label: "Go to album", href: albumHref(song) }] : []),
    { icon: "map", label: "Show on map", href: mapHref(song.id) },
  ];
  const opinions = () => [
    { icon: "heart", label: hearts.has(song) ? "Remove heart" : "Give a heart", run: () => toggleHeart(song) },
    { icon: "less", label: "Less like this", run: () => less(song) },
  ];
  const open = () => {
    const first = [{ icon: "near", label: "Similar songs", href: songHref(song.id) }, ...items, ...usual];
    const isElsewhere = (item) => !item.href || item.href !== location.hash;
    const add = openMenu(button, [...first, ...(hearts.shown ? opinions() : [])].filter(isElsewhere));
    // hearts may be loaded after the menu was opened
    if (!hearts.shown) hearts.addEventListener("change", () => hearts.shown && add(opinions()), { once: true });
  };
  const button = h(
    "button",
    {
      class: "icon-button row-more",
      type: "button",
      "aria-label": `More for ${titleOf(song)}`,
      "aria-haspopup": "menu",
      "aria-expanded": false,
      on: { click: open },
    },
    icon("more"),
  );
  return button;
}
