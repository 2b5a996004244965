// The albums of the library, as a grid of covers.

import { albumTile } from "../albums/tiles.js";
import { emptyLibrary } from "./library/empty.js";
import { itemGrid } from "./library/item_grid.js";

const ALBUMS = {
  name: "albums",
  one: "album",
  hash: "#/library/albums",
  path: "/albums",
  placeholder: "Album or artist",
  hasGenres: true,
  sorts: [
    ["artist", "Artist"],
    ["name", "Name"],
    ["newest", "Recently added"],
    ["year", "Year"],
    ["played", "Most played"],
  ],
  tile: (album) => albumTile(album),
};

export async function show(root, params, app) {
  app.title("Albums");
  const status = await app.someStatus();
  return status.songs ? itemGrid(root, params.query, app, ALBUMS) : emptyLibrary(root, app);
}
