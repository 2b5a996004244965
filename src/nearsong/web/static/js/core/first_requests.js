// The first requests, sent while the page's scripts are on their way. A plain script in the head.
//
//   nearsongFirst: Map of path -> promise of a Response. api.js takes each once instead of asking again.

(() => {
  "use strict";
  const paths = /^#?\/?$/.test(location.hash) ? ["/status", "/home"] : ["/status"];
  const headers = { Accept: "application/json, application/problem+json" };
  globalThis.nearsongFirst = new Map(
    paths.map((path) => {
      const asked = fetch(`/api/v1${path}`, { headers, credentials: "same-origin" });
      asked.catch(() => {}); // whoever takes it sees the error
      return [path, asked];
    }),
  );
})();
