// Phone and players: the address in the network, also as a QR code; or how to open the service to the network.

import { get, url } from "../../core/api.js";
import { h } from "../../core/dom.js";
import { command } from "../library/empty.js";

export async function phoneSection(app) {
  const { address, words, command: instead } = await get("/connection", {}, { signal: app.signal });
  if (!address) return [h("p", {}, words), command(instead)];
  const { listener } = app.status;
  const size = { width: 200, height: 200 };
  const code = h("img", { class: "qr-code", src: url("/connection/qr.svg"), alt: `QR code of ${address}`, ...size });
  const password = listener
    ? ["the app password of your ", h("a", { href: "#/account" }, "account")]
    : "the token, or an app password";
  return h(
    "div",
    { class: "phone-box" },
    code,
    h(
      "div",
      { class: "stack" },
      h("p", {}, words),
      command(address),
      h(
        "dl",
        { class: "settings-facts" },
        h("dt", {}, "User"),
        h("dd", {}, listener ?? "your name"),
        h("dt", {}, "Password"),
        h("dd", {}, password),
      ),
      h("p", { class: "muted small-text" }, "The code holds the address and no password."),
    ),
  );
}
