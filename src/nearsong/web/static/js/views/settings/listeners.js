// Listeners and tokens: the accounts, for admins; without any, how to make the first.

import { h } from "../../core/dom.js";
import { people } from "../account/people.js";
import { command, typed } from "../library/empty.js";

export async function listenersSection(app) {
  if (app.status.has_login) return people(app);
  return [
    h(
      "p",
      {},
      "Nobody signs in here: what is played on this page is played by “me”. ",
      "Give each listener an account, with plays, hearts and playlists of their own. Run in a terminal:",
    ),
    command(typed(app, "listeners add", "NAME --admin")),
    h("p", { class: "muted" }, "From then on everybody signs in with a token, and more listeners can be added here."),
  ];
}
