// Settings: what is one's own, and for admins the library and the service. Sections load on their own; the address
// #/settings?section=NAME leads to one of them.

import { button, h, icon, replace } from "../core/dom.js";
import { accountSection } from "./settings/account.js";
import { filesSection } from "./settings/files.js";
import { foldersSection } from "./settings/folders.js";
import { historiesSection } from "./settings/histories.js";
import { listenersSection } from "./settings/listeners.js";
import { modelsSection } from "./settings/models.js";
import { phoneSection } from "./settings/phone.js";
import { scheduleSection } from "./settings/schedule.js";

const SERVICE = [
  { name: "folders", title: "Folders", icon: "folder", make: foldersSection },
  { name: "histories", title: "Listening histories", icon: "people", make: historiesSection },
  { name: "files", title: "Files with problems", icon: "warning", make: filesSection },
  { name: "models", title: "Models", icon: "chart", make: modelsSection },
  { name: "schedule", title: "Schedule", icon: "clock", make: scheduleSection },
  { name: "listeners", title: "Listeners and tokens", icon: "person", make: listenersSection },
];

const PHONE = { name: "phone", title: "Phone and players", icon: "phone", make: phoneSection };
const ACCOUNT = { name: "account", title: "Account", icon: "person", make: accountSection };
const OWN_HISTORIES = { ...SERVICE[1], title: "Your listening histories" };

const loaders = new Map(); // name of a section -> loads it again, where it was drawn last

/** Load a section again. What asks may have been drawn by an earlier visit, which a question or a job outlives. */
const reloadSection = (name) => loaders.get(name)?.();

export async function show(root, params, page) {
  page.title("Settings");
  const app = Object.create(page, {
    signal: { value: page.signal }, // of this visit, also after it
    reloadSection: { value: reloadSection },
  });
  const status = await app.refreshStatus();
  if (app.signal.aborted) return;
  const own = [status.listener && ACCOUNT, PHONE, !status.is_admin && OWN_HISTORIES].filter(Boolean);
  const groups = status.is_admin
    ? [
        { title: "Library and service", words: "For everybody who uses this library.", sections: SERVICE },
        { title: "Yours", words: status.listener ? `Only for you, ${status.listener}.` : "", sections: own },
      ]
    : [{ title: "Yours", words: `Only for you, ${status.listener}.`, sections: own }];
  replace(
    root,
    app.heading("Settings"),
    h(
      "div",
      { class: "settings" },
      index(groups),
      h("div", { class: "settings-groups" }, groups.map(group(app))),
    ),
  );
  const wanted = params.query.get("section");
  if (wanted) goToLoaded(wanted, root, app.signal);
}

const group = (app) => (one) =>
  h(
    "section",
    { class: "settings-group", "aria-label": one.title },
    h(
      "div",
      { class: "settings-group-head" },
      h("h2", {}, one.title),
      one.words && h("p", { class: "muted small-text" }, one.words),
    ),
    one.sections.map((section) => frame(app, section)),
  );

/** The frame of a section; it shows what is missing if the section cannot be loaded, and loads it again. */
function frame(app, { name, title, icon: picture, make }) {
  const id = `settings-${name}`;
  const body = h("div", { class: "settings-body" });
  let latest = 0; // of the loads, which may end in another order than they began
  const load = async () => {
    const mine = ++latest;
    const isLate = () => app.signal.aborted || mine !== latest;
    body.setAttribute("aria-busy", "true");
    if (!body.childElementCount) replace(body, h("div", { class: "skeleton settings-wait" }));
    try {
      const content = await make(app, () => reloadSection(name));
      if (isLate()) return;
      const isHere = body.contains(document.activeElement);
      replace(body, content);
      if (isHere) section.focus({ preventScroll: true }); // what was pressed may be gone
    } catch (error) {
      if (isLate()) return;
      if (error?.name !== "ApiError") console.error(error);
      const words = h("p", {}, error?.detail || "This cannot be shown right now.");
      const again = button("Try again", load, { class: "button quiet small" });
      replace(body, h("div", { class: "note warn" }, icon("warning"), words, again));
    }
    body.removeAttribute("aria-busy");
  };
  const section = h(
    "section",
    { class: "card settings-section", id, "aria-labelledby": `${id}-title`, tabindex: "-1" },
    h("h3", { id: `${id}-title` }, icon(picture), title),
    body,
  );
  loaders.set(name, load);
  load();
  return section;
}

function index(groups) {
  const link = ({ name, title }) =>
    h(
      "a",
      {
        href: `#/settings?section=${name}`,
        on: {
          click: (event) => {
            event.preventDefault(); // the sections are here already
            history.replaceState(history.state, "", `#/settings?section=${name}`);
            goTo(name);
          },
        },
      },
      title,
    );
  return h(
    "nav",
    { class: "settings-index", "aria-label": "Sections" },
    groups.map((one) => [
      groups.length > 1 && h("p", { class: "label" }, one.title),
      h("ul", { role: "list" }, one.sections.map((section) => h("li", {}, link(section)))),
    ]),
  );
}

/** Goes to a section, and again whenever one above it has loaded, until the reader moves or all are loaded. */
function goToLoaded(name, root, signal) {
  goTo(name);
  const bodies = [...root.querySelectorAll(".settings-body")];
  const done = new AbortController();
  for (const event of ["wheel", "touchmove", "pointerdown", "keydown"])
    addEventListener(event, () => done.abort(), { passive: true, signal: done.signal });
  signal.addEventListener("abort", () => done.abort(), { signal: done.signal });
  const loaded = new MutationObserver(() => {
    document.getElementById(`settings-${name}`)?.scrollIntoView({ block: "start" });
    if (!bodies.some((body) => body.hasAttribute("aria-busy"))) done.abort();
  });
  done.signal.addEventListener("abort", () => loaded.disconnect());
  for (const body of bodies) loaded.observe(body, { attributeFilter: ["aria-busy"] });
}

function goTo(name) {
  const section = document.getElementById(`settings-${name}`);
  section?.scrollIntoView({ block: "start" });
  section?.focus({ preventScroll: true });
}
