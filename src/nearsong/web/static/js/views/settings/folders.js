// Folders: which are scanned, adding one by choosing it, removing one after a question, watching them.

import { del, get, put } from "../../core/api.js";
import { button, h, icon, iconButton, replace } from "../../core/dom.js";
import { count, day } from "../../core/format.js";
import { follow, isOver, progressBox, runningJob, startJob, stopButton } from "../../core/jobs.js";
import { say, sayError } from "../../core/toasts.js";
import { command, typed } from "../library/empty.js";
import { sayScanned } from "../library/scan_note.js";
import { confirmed } from "./confirm.js";
import { chooseFolder } from "./folder_picker.js";
import { busy, toggle } from "./switch.js";

export async function foldersSection(app, again) {
  const found = await get("/folders", {}, { signal: app.signal });
  const progress = h("div", { class: "scan-note", hidden: true });
  const watch = (job) => followScan(app, job, progress, again);
  const scan = async (folders) => watch(await startJob("scan", { folders }));
  runningJob("library").then(
    (job) => job && watch(job),
    () => {},
  ); // the section works without
  return [
    found.folders.length
      ? h(
          "ul",
          { class: "settings-rows", id: "folders", role: "list" },
          found.folders.map((folder) => row(app, folder, again)),
        )
      : h("p", { class: "muted" }, "No folder yet. Add the one that has your music."),
    progress,
    h("div", { class: "cluster" }, addButton(found, scan), found.folders.length > 0 && scanButton(scan)),
    found.may_type && typedForm(scan),
    !found.roots.length && elsewhere(app),
    found.folders.length > 0 && watchSwitch(found, again),
  ];
}

function row(app, folder, again) {
  const facts = [
    count(folder.songs, "song"),
    folder.missing > 0 && count(folder.missing, "song without its file", "songs without their files"),
    folder.unreadable > 0 && count(folder.unreadable, "unreadable file"),
    `scanned ${day(folder.scanned)}`,
  ].filter(Boolean);
  return h(
    "li",
    { class: "settings-row" },
    h(
      "div",
      {},
      h("p", { class: "settings-path" }, folder.path),
      h("p", { class: "muted small-text number" }, facts.join(" · ")),
      !folder.exists && h("p", { class: "mark" }, icon("warning"), "Not there now: is the drive connected?"),
    ),
    iconButton("trash", `Remove ${folder.path}`, () => remove(app, folder, again).catch(sayError)),
  );
}

async function remove(app, folder, again) {
  const forget = h("input", { type: "checkbox", id: "forget-songs" });
  const yes = await confirmed({
    title: "Remove this folder?",
    words: [folder.path, folder.removal_words],
    extra:
      folder.songs > 0 &&
      h(
        "label",
        { class: "check", for: "forget-songs" },
        forget,
        h("span", {}, "Also delete what is known about its songs, hearts and ratings too. There is no way back."),
      ),
    action: "Remove folder",
  });
  if (!yes) return;
  const { words } = await del(`/folders?${new URLSearchParams({ path: folder.path, forget: forget.checked })}`);
  say(words, { kind: "good", seconds: 9 });
  await app.refreshStatus();
  await again();
}

function addButton(found, scan) {
  if (!found.roots.length) return null;
  const add = button(
    "Add a folder",
    () =>
      busy(add, async () => {
        const path = await chooseFolder(found.roots);
        if (path) await scan([path]);
      }),
    { icon: "add", id: "add-folder" },
  );
  return add;
}

function scanButton(scan) {
  const start = button("Scan for new music", () => busy(start, () => scan([])), {
    class: "button quiet",
    icon: "refresh",
  });
  return start;
}

function typedForm(scan) {
  const field = h("input", {
    class: "input",
    id: "folder-path",
    placeholder: "/home/me/Music",
    required: true,
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": "folder-path-error",
  });
  const wrong = h("p", { class: "field-error", id: "folder-path-error", role: "alert" });
  const add = h("button", { class: "button quiet", type: "submit" }, "Add");
  const send = async (event) => {
    event.preventDefault();
    add.disabled = true;
    wrong.textContent = "";
    try {
      await scan([field.value.trim().replace(/^(["'])(.*)\1$/, "$2")]); // file managers copy quoted paths
      field.value = "";
    } catch (error) {
      wrong.textContent = error.detail || "Something went wrong.";
      field.focus();
    }
    add.disabled = false;
  };
  return h(
    "details",
    {},
    h("summary", {}, "Type a path instead"),
    h(
      "form",
      { class: "field", on: { submit: send } },
      h("label", { for: "folder-path" }, "Folder on the computer that runs nearsong"),
      h("div", { class: "folder-form" }, field, add),
      wrong,
    ),
  );
}

function elsewhere(app) {
  return h(
    "div",
    { class: "stack" },
    h("p", { class: "muted" }, "Others can reach this service, so folders are added on the computer that runs it:"),
    command(typed(app, "scan", "FOLDER")),
    h("p", { class: "muted" }, "To choose them here, start it with the folder that admins may look into:"),
    command("nearsong serve --allow-folder FOLDER"),
  );
}

function watchSwitch(found, again) {
  const note = found.watch && !found.is_watching && "Nothing runs by itself now: see Schedule.";
  return h(
    "div",
    {},
    toggle("Watch the folders, and scan new files within minutes", found.watch, async (watch) => {
      await put("/automation", { watch });
      await again();
    }),
    note && h("p", { class: "muted small-text" }, note),
  );
}

function followScan(app, job, node, again) {
  const box = progressBox(job);
  node.hidden = false;
  replace(node, box.node, stopButton(job));
  const stop = follow(job.id, async (now) => {
    box.update(now);
    if (!isOver(now) || app.signal.aborted) return;
    node.hidden = true;
    sayScanned(now);
    await app.refreshStatus().catch(() => {});
    await Promise.all([again(), app.reloadSection("files")]);
  });
  app.signal.addEventListener("abort", stop);
}
