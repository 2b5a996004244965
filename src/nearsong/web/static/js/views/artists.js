// The artists of the library.

import { artistTile } from "../albums/tiles.js";
import { emptyLibrary } from "./library/empty.js";
import { itemGrid } from "./library/item_grid.js";

const ARTISTS = {
  name: "artists",
  one: "artist",
  hash: "#/library/artists",
  path: "/artists",
  placeholder: "Artist",
  sorts: [
    ["name", "Name"],
    ["songs", "Most songs"],
    ["played", "Most played"],
  ],
  tile: artistTile,
};

export async function show(root, params, app) {
  app.title("Artists");
  const status = await app.someStatus();
  return status.songs ? itemGrid(root, params.query, app, ARTISTS) : emptyLibrary(root, app);
}
