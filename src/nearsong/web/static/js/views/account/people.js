// people(app) -> the listeners with an account, for admins: add, make admin, new token, delete

import { del, get, post, put } from "../../core/api.js";
import { button, h, replace } from "../../core/dom.js";
import { day } from "../../core/format.js";
import { say, sayError } from "../../core/toasts.js";
import { confirmed } from "../settings/confirm.js";
import { secret } from "./secret.js";

const CANCELLED = Symbol("cancelled"); // the answer to a question was no

export async function people(app) {
  const list = h("ul", { class: "account-people", role: "list" });
  const shown = h("div", { class: "secret" });
  const draw = async () => {
    const found = await get("/listeners", {}, { signal: app.signal });
    replace(
      list,
      found.map((one) => row(one, one.name === app.status.listener, draw, shown)),
    );
  };
  await draw();
  return [
    h("p", { class: "muted" }, "Each has plays, hearts and playlists of their own. Admins also see what others play."),
    list,
    addForm(draw, shown),
    shown,
  ];
}

function row(one, isOwn, draw, shown) {
  const act = (label, work, danger = false) => {
    const control = button(
      label,
      async () => {
        control.disabled = true;
        try {
          if ((await work()) !== CANCELLED) return await draw();
          control.disabled = false;
          control.focus(); // nothing has changed: it is still there
        } catch (error) {
          sayError(error);
          control.disabled = false;
        }
      },
      { class: ["button quiet small", danger && "danger"], "aria-label": `${label}: ${one.name}` },
    );
    return control;
  };
  const address = `/listeners/${encodeURIComponent(one.name)}`;
  const facts = [one.is_admin && "admin", one.has_app_password && "has an app password", `added ${day(one.created)}`];
  return h(
    "li",
    { class: "account-person" },
    h(
      "div",
      {},
      h("strong", {}, one.name),
      isOwn && h("span", { class: "muted" }, " (you)"),
      h("p", { class: "muted small-text" }, facts.filter(Boolean).join(" · ")),
    ),
    !isOwn &&
      h(
        "div",
        { class: "cluster" },
        act(one.is_admin ? "No admin" : "Make admin", () => put(address, { is_admin: !one.is_admin })),
        act("New token", async () => {
          const { token } = await post(`${address}/token`);
          replace(shown, secret(`Token of ${one.name}`, token, "It is shown this once. The earlier one has ended."));
        }),
        remover(one, address, act),
      ),
  );
}

/** Deleting is asked about. */
function remover(one, address, act) {
  return act(
    "Delete",
    async () => {
      const yes = await confirmed({
        title: `Delete ${one.name}?`,
        words: [
          "The account, plays, hearts, ratings, skips, playlists, the queue and all rows of imported histories go.",
          "This cannot be undone. Models that have learned from them stay until the next training.",
        ],
        action: "Delete all of it",
      });
      if (!yes) return CANCELLED;
      const { words } = await del(address);
      say(words);
    },
    true,
  );
}

function addForm(draw, shown) {
  const name = h("input", {
    class: "input",
    id: "new-listener",
    required: true,
    maxlength: 200,
    autocomplete: "off",
    spellcheck: "false",
  });
  const admin = h("input", { type: "checkbox", id: "new-admin" });
  const send = async (event) => {
    event.preventDefault();
    add.disabled = true;
    try {
      const made = await post("/listeners", { name: name.value.trim(), is_admin: admin.checked });
      replace(shown, secret(`Token of ${made.name}`, made.token, "It is shown this once: pass it on to them."));
      name.value = "";
      admin.checked = false;
      await draw();
    } catch (error) {
      sayError(error);
    }
    add.disabled = false;
  };
  const add = h("button", { class: "button", type: "submit" }, "Add listener");
  return h(
    "form",
    { class: "cluster account-add", on: { submit: send } },
    h("div", { class: "field" }, h("label", { for: "new-listener" }, "Name"), name),
    h("label", { class: "cluster", for: "new-admin" }, admin, "Admin"),
    add,
  );
}
