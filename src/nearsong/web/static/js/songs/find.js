// findSongs(text, signal) -> what a song picker offers, found by the service

import { get } from "../core/api.js";

export async function findSongs(text, signal) {
  const page = await get("/songs", { search: text, limit: 10 }, { signal });
  return page.items.map((song) => ({ song, note: page.fuzzy ? "similar spelling" : "" }));
}
