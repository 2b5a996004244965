// Addresses after the # -> views.
//
//   parse("#/song/12?a=b") -> {name: "song", params: {id: 12, query: URLSearchParams}} or null; ids that are no
//       numbers stay texts
//   VIEWS: the entries of the navigation; on phones those with `tab` are tabs, and the others behind "More"
//   LOAD: name -> module of the view, loaded on demand. PARENTS: view without an entry -> the one that it belongs to
//   A view is {show(root, params, app) -> optional clean-up function}.

export const VIEWS = [
  { name: "home", hash: "#/", label: "Home", short: "Home", icon: "home", tab: true },
  { name: "library", hash: "#/library", label: "Library", short: "Library", icon: "library", tab: true },
  { name: "for-you", hash: "#/for-you", label: "For you", short: "For you", icon: "star" },
  { name: "listen", hash: "#/listen", label: "Find by sound", short: "Find", icon: "wave" },
  { name: "map", hash: "#/map", label: "Map", short: "Map", icon: "map", tab: true },
  { name: "playlists", hash: "#/playlists", label: "Playlists", short: "Playlists", icon: "playlist", tab: true },
  { name: "quality", hash: "#/quality", label: "Quality", short: "Quality", icon: "chart" },
  { name: "settings", hash: "#/settings", label: "Settings", short: "Settings", icon: "settings" },
];

export const PARENTS = { albums: "library", artists: "library", album: "library", artist: "library", song: "library" };

const ROUTES = [
  [/^\/?$/, "home"],
  [/^\/library$/, "library"],
  [/^\/library\/albums$/, "albums"],
  [/^\/library\/artists$/, "artists"],
  [/^\/album\/(al-[0-9a-f]{1,32})$/, "album"],
  [/^\/artist\/(ar-[0-9a-f]{1,32})$/, "artist"],
  [/^\/song\/(\d{1,19})$/, "song"],
  [/^\/song\/(\d{1,19})\/album$/, "album"],
  [/^\/song\/(\d{1,19})\/artist$/, "artist"],
  [/^\/for-you$/, "for-you"],
  [/^\/listen$/, "listen"],
  [/^\/map$/, "map"],
  [/^\/playlists$/, "playlists"],
  [/^\/playlists\/(\d{1,19})$/, "playlists"],
  [/^\/quality$/, "quality"],
  [/^\/account$/, "account"],
  [/^\/settings$/, "settings"],
];

export const LOAD = {
  home: () => import("../views/home.js"),
  library: () => import("../views/library.js"),
  albums: () => import("../views/albums.js"),
  artists: () => import("../views/artists.js"),
  album: () => import("../views/album.js"),
  artist: () => import("../views/artist.js"),
  song: () => import("../views/song.js"),
  "for-you": () => import("../views/for_you.js"),
  listen: () => import("../views/listen.js"),
  map: () => import("../views/map.js"),
  playlists: () => import("../views/playlists.js"),
  quality: () => import("../views/quality.js"),
  account: () => import("../views/account.js"),
  settings: () => import("../views/settings.js"),
};

const idOf = (text) => (text === undefined ? null : /^\d+$/.test(text) ? Number(text) : text);

export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  for (const [pattern, name] of ROUTES) {
    const found = pattern.exec(path);
    if (found) return { name, params: { id: idOf(found[1]), query: new URLSearchParams(query) } };
  }
  return null;
}
