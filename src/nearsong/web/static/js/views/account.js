// The account: who is signed in, the password of players, the token, all data.

import { del, download, get, post } from "../core/api.js";
import { button, h, replace } from "../core/dom.js";
import { say, sayError } from "../core/toasts.js";
import { secret } from "./account/secret.js";

const own = (rest = "") => `/listeners/me${rest}`;

export async function show(root, params, app) {
  const status = await app.refreshStatus();
  const { listener, is_admin: isAdmin } = status;
  app.title(listener ? "Account" : "Listeners");
  const account = listener && (await get(own(), {}, { signal: app.signal }));
  const lead = listener
    ? `Signed in as ${listener}${isAdmin ? ", an admin" : ""}. What you play, like and skip here is yours.`
    : status.has_login
      ? "You are signed in with the token of the service, which is nobody’s in particular."
      : "Nobody signs in here: what is played on this page is played by “me”.";
  replace(
    root,
    app.heading(listener ? "Account" : "Listeners", { lead }),
    h(
      "div",
      { class: "account" },
      account && [players(account), token(account), data(account)],
      isAdmin && toListeners(),
    ),
  );
}

function section(title, ...content) {
  const id = `account-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  return h("section", { class: "card", "aria-labelledby": id }, h("h2", { id }, title), content);
}

function toListeners() {
  return h(
    "p",
    { class: "muted" },
    "You are an admin. Accounts of other listeners are under ",
    h("a", { href: "#/settings?section=listeners" }, "Settings"),
    ".",
  );
}

function players(account) {
  const shown = h("div", { class: "secret" });
  const state = h("p", { class: "muted" });
  const draw = (has) => {
    state.textContent = has
      ? "Players can connect with your app password. A new one replaces it in all of them."
      : "Players cannot connect yet: they need an app password.";
    renew.lastChild.textContent = has ? "New app password" : "Create app password";
    remove.hidden = !has;
  };
  const renew = button("", () =>
    run(renew, async () => {
      const { app_password: password } = await post(own("/app-password"));
      replace(shown, secret("App password", password));
      draw(true);
    }),
  );
  renew.append(h("span"));
  const remove = button(
    "Remove it",
    () =>
      run(remove, async () => {
        await del(own("/app-password"));
        replace(shown);
        draw(false);
        say("App password removed.");
      }),
    { class: "button quiet" },
  );
  draw(account.has_app_password);
  return section(
    "Players",
    h("p", {}, "Subsonic players, and those that send plays to Last.fm, sign in with a password of their own."),
    h(
      "dl",
      { class: "facts" },
      h("dt", {}, "Server"),
      h("dd", {}, h("code", {}, location.origin)),
      h("dt", {}, "User"),
      h("dd", {}, h("code", {}, account.name)),
      h("dt", {}, "Password"),
      h("dd", {}, "the app password"),
    ),
    state,
    h("div", { class: "cluster" }, renew, remove),
    shown,
  );
}

function token(account) {
  const shown = h("div", { class: "secret" });
  const renew = button(
    "New token",
    () =>
      run(renew, async () => {
        const { token: text } = await post(own("/token"));
        replace(shown, secret("Token", text, "It is shown this once. This browser stays signed in."));
      }),
    { class: "button quiet" },
  );
  return section(
    "Token",
    h("p", {}, "It signs in to this page and to ListenBrainz clients, and is the API key of programs."),
    h("p", { class: "muted" }, "A new one signs out all other browsers."),
    renew,
    shown,
  );
}

function data(account) {
  const save = button("Export everything", () => run(save, () => exportAll(account.name)), { icon: "download" });
  const field = h("input", { class: "input", id: "confirm-name", autocomplete: "off", spellcheck: "false" });
  const erase = button("Delete everything", () => run(erase, () => eraseAll()), {
    class: "button quiet danger",
    disabled: true,
  });
  field.addEventListener("input", () => (erase.disabled = field.value.trim() !== account.name));
  return section(
    "Your data",
    h("p", {}, "Plays, hearts, ratings, skips, imported histories, playlists and the queue, as one zip file."),
    save,
    h("p", {}, "Deleting cannot be undone. It removes your account and all of the above."),
    h("div", { class: "field" }, h("label", { for: "confirm-name" }, `Type ${account.name} to delete`), field),
    erase,
  );
}

async function exportAll(name) {
  const { blob, name: file } = await download(own("/everything"), undefined, { method: "GET" });
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: file || `${name}.zip` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

async function eraseAll() {
  await del(own());
  location.assign("/login");
}

async function run(control, work) {
  control.disabled = true;
  try {
    await work();
  } catch (error) {
    sayError(error);
  }
  control.disabled = false;
}
