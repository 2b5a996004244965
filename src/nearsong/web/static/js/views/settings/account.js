// The own account, in short; all of it is at #/account.

import { get } from "../../core/api.js";
import { h } from "../../core/dom.js";

export async function accountSection(app) {
  const account = await get("/listeners/me", {}, { signal: app.signal });
  const players = account.has_app_password
    ? "Players can connect with your app password."
    : "Players have no password yet.";
  return [
    h("p", {}, `Signed in as ${account.name}${account.is_admin ? ", an admin" : ""}. ${players}`),
    h("p", { class: "muted" }, "A password for players, a new token, and all about you, to export or to delete:"),
    h("div", { class: "cluster" }, h("a", { class: "button quiet", href: "#/account" }, "Open account")),
  ];
}
