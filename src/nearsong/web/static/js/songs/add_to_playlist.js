// choosePlaylist(button, songs): opens the menu of saved playlists at a button; the chosen one gets the songs.
// Songs that are on it already are not added again, unless asked for.

import { get, post } from "../core/api.js";
import { brief, count, titleOf } from "../core/format.js";
import { openMenu } from "../widgets/menu.js";
import { say, sayError } from "../core/toasts.js";

export async function choosePlaylist(button, songs) {
  try {
    const lists = (await get("/playlists")).filter((list) => list.can_change);
    lists.sort((a, b) => b.changed - a.changed);
    openMenu(button, [
      { icon: "add", label: "New playlist", run: () => create(songs).catch(sayError) },
      ...lists.map((list) => ({
        icon: "playlist",
        label: brief(list.name),
        run: () => add(list, songs).catch(sayError),
      })),
    ]);
  } catch (error) {
    sayError(error);
  }
}

const called = (songs) => (songs.length === 1 ? `“${brief(titleOf(songs[0]))}”` : count(songs.length, "song"));

const showAction = (id) => ({ label: "Show", run: () => (location.hash = `#/playlists/${id}`) });

async function create(songs) {
  const name = (songs.length === 1 ? titleOf(songs[0]) : songs[0].album || titleOf(songs[0])).slice(0, 200);
  const made = await post("/playlists", { name, songs: songs.map((song) => song.id) });
  say(`New playlist “${brief(name)}” with ${called(songs)}.`, { kind: "good", action: showAction(made.id) });
}

async function add(list, songs, again = false) {
  const wanted = songs.map((song) => song.id);
  const changed = await post(`/playlists/${list.id}/songs`, { songs: wanted, again });
  const name = `“${brief(list.name)}”`;
  if (!changed.added) {
    const action = { label: "Add again", run: () => add(list, songs, true).catch(sayError) };
    say(`${called(songs)} ${songs.length === 1 ? "is" : "are"} on ${name} already.`, { action });
    return;
  }
  const { draft } = await import("../views/playlists/draft.js");
  draft.appended(list.id, changed.items.slice(-changed.added));
  const left = songs.length - changed.added;
  const rest = left ? ` ${count(left, "was", "were")} on it already.` : "";
  const what = left ? count(changed.added, "song") : called(songs);
  say(`${what} added to ${name}.${rest}`, { kind: "good", action: showAction(list.id) });
}
