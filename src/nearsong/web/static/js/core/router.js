// Addresses after the # -> views.
//
//   parse("#/song/12?a=b") -> {name: "song", params: {id: 12, query: URLSearchParams}} or null
//   VIEWS: the entries of the navigation; LOAD: name -> module of the view, loaded on demand.
//   A view is {show(root, params, app) -> optional clean-up function}.

export const VIEWS = [
  { name: "library", hash: "#/", label: "Library", short: "Library", icon: "library" },
  { name: "for-you", hash: "#/for-you", label: "For you", short: "For you", icon: "star" },
  { name: "listen", hash: "#/listen", label: "Find by sound", short: "Find", icon: "wave" },
  { name: "map", hash: "#/map", label: "Map", short: "Map", icon: "map" },
  { name: "playlists", hash: "#/playlists", label: "Playlists", short: "Playlists", icon: "playlist" },
  { name: "quality", hash: "#/quality", label: "Quality", short: "Quality", icon: "chart" },
];

const ROUTES = [
  [/^\/?$/, "library"],
  [/^\/song\/(\d{1,19})$/, "song"],
  [/^\/for-you$/, "for-you"],
  [/^\/listen$/, "listen"],
  [/^\/map$/, "map"],
  [/^\/playlists$/, "playlists"],
  [/^\/playlists\/(\d{1,19})$/, "playlists"],
  [/^\/quality$/, "quality"],
  [/^\/account$/, "account"],
];

export const LOAD = {
  library: () => import("../views/library.js"),
  song: () => import("../views/song.js"),
  "for-you": () => import("../views/for_you.js"),
  listen: () => import("../views/listen.js"),
  map: () => import("../views/map.js"),
  playlists: () => import("../views/playlists.js"),
  quality: () => import("../views/quality.js"),
  account: () => import("../views/account.js"),
};

export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  for (const [pattern, name] of ROUTES) {
    const found = pattern.exec(path);
    if (found)
      return {
        name,
        params: { id: found[1] === undefined ? null : Number(found[1]), query: new URLSearchParams(query) },
      };
  }
  return null;
}
