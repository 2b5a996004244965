// Empty states: no songs, no listens, no trained model. Each offers the next step.
//
//   emptyLibrary(root, app) -> clean-up function: the library view without songs; a scan can be started and followed
//   nextStep(app) -> a banner with the next step for the library view, or null
//   command(text) -> a command line with a copy button
//   typed(app, words, what) -> a nearsong command line for this library
//   listensDrop(app, {params, onDone}) -> a field for uploading a listening history
//   learnNote(app) -> the note on a song page while no model is trained

import { get, upload } from "../../core/api.js";
import { h, icon, iconButton, replace } from "../../core/dom.js";
import { percent } from "../../core/format.js";
import { follow, isOver, progressBox, runningJob, startJob, stopButton } from "../../core/jobs.js";
import { store, stored } from "../../core/storage.js";
import { say, sayError } from "../../core/toasts.js";
import { sayScanned } from "./scan_note.js";

const DISMISSED = "nearsong.dismissed";
const CHOOSE = "Scan a folder of music";

export function command(text) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      say("Copied.", { kind: "good" });
    } catch {
      getSelection().selectAllChildren(code);
      say("Selected. Press Ctrl + C to copy.");
    }
  };
  const code = h("code", { tabindex: "0" }, text);
  return h("div", { class: "command" }, code, iconButton("copy", `Copy: ${text}`, copy));
}

export function typed(app, words, what) {
  const { library } = app.status; // null: the default library
  const address = library && (/^[\w@%+=:,./-]+$/.test(library) ? library : `'${library.replaceAll("'", "'\\''")}'`);
  return ["nearsong", words, address && `--library ${address}`, what].filter(Boolean).join(" ");
}

const later = (title, words) =>
  h("li", {}, h("div", {}, h("h2", { class: "muted" }, title), h("p", { class: "muted" }, words)));

export function emptyLibrary(root, app) {
  app.title("Welcome");
  const box = h("div", { class: "stack" });
  const state = { stop: null };
  state.title = h("h2", {}, CHOOSE);
  replace(
    root,
    h(
      "div",
      { class: "empty" },
      icon("library"),
      h("h1", { tabindex: "-1" }, "Getting started"),
      h(
        "p",
        { class: "muted" },
        "nearsong analyses the music in a folder and finds similar songs. ",
        "Your files are never changed or uploaded.",
      ),
      h(
        "ol",
        { class: "steps", role: "list" },
        h("li", { class: "is-now" }, h("div", {}, state.title, box)),
        later("Import a listening history", "From Last.fm, ListenBrainz or Spotify: yours or anybody’s."),
        later(
          "Train a model",
          "It learns what listeners find similar, in a few minutes, and recommends unplayed songs, too.",
        ),
      ),
    ),
  );
  scanStep(box, app, state);
  return () => state.stop?.();
}

async function scanStep(box, app, state) {
  const typing = app.status.can_add_folders ? "Or run in a terminal:" : "Run in a terminal, with your folder:";
  const fresh = () => {
    state.title.textContent = CHOOSE;
    replace(
      box,
      folderForm(app, watch),
      h("p", { class: "muted" }, typing),
      command(typed(app, "scan", "FOLDER")),
      h("p", { class: "muted small-text" }, "This page updates when songs are found."),
    );
  };
  const watch = (job) => watchScan(job, box, app, state, fresh);
  const { signal } = app;
  fresh();
  const timer = setInterval(async () => {
    // songs may also come from a scan in a terminal
    try {
      const { songs } = await app.refreshStatus();
      if (songs && !state.job && !signal.aborted) return app.go("#/");
      const elsewhere = !state.job && (await runningJob("library")); // started on another page
      if (elsewhere && !state.job && !signal.aborted) watch(elsewhere);
      const look = songs && box.querySelector("a.button");
      if (look) look.hidden = false; // songs can be shown while the scan continues
    } catch {
      /* the banner tells */
    }
  }, 4000);
  state.stop = () => clearInterval(timer);
  try {
    const job = await runningJob("library");
    if (job && !state.job && !signal.aborted) watch(job);
  } catch {
    /* the form works without */
  }
}

function folderForm(app, started) {
  if (!app.status.can_add_folders) return null;
  const field = h("input", {
    class: "input",
    id: "folder",
    name: "folder",
    placeholder: "/home/me/Music",
    required: true,
    "aria-describedby": "folder-error",
    autocomplete: "off",
    spellcheck: "false",
  });
  const wrong = h("p", { class: "field-error", id: "folder-error", role: "alert" });
  const send = async (event) => {
    event.preventDefault();
    button.disabled = true;
    wrong.textContent = "";
    try {
      // file managers copy quoted paths
      const folder = field.value.trim().replace(/^(["'])(.*)\1$/, "$2");
      started(await startJob("scan", { folders: [folder] }));
    } catch (error) {
      wrong.textContent = error.detail || "Something went wrong.";
      field.focus();
    }
    button.disabled = false;
  };
  const button = h("button", { class: "button", type: "submit" }, "Scan");
  const pick = async () => {
    try {
      const { chooseFolder } = await import("../settings/folder_picker.js"); // most visits need none
      const { roots } = await get("/folders");
      field.value = (await chooseFolder(roots)) ?? field.value;
      button.focus();
    } catch (error) {
      sayError(error);
    }
  };
  return h(
    "form",
    { class: "stack", on: { submit: send } },
    h(
      "div",
      { class: "field" },
      h("label", { for: "folder" }, "Folder on the computer that runs nearsong"),
      h("div", { class: "folder-form" }, field, iconButton("folder", "Choose a folder", pick), button),
      wrong,
    ),
  );
}

function watchScan(job, box, app, state, again) {
  const progress = progressBox(job);
  const before = state.stop;
  const { signal } = app;
  state.job = job;
  state.title.textContent = "Scanning your music";
  const look = (event) => {
    event.preventDefault();
    state.job = null;
    app.refreshStatus().then(() => app.go("#/library"), sayError);
  };
  replace(
    box,
    progress.node,
    h(
      "div",
      { class: "cluster" },
      h("a", { class: "button", href: "#/library", hidden: true, on: { click: look } }, "Show the first songs"),
      stopButton(job),
    ),
  );
  const stop = follow(job.id, async (now) => {
    progress.update(now);
    if (!isOver(now)) return;
    state.job = null;
    sayScanned(now);
    await app.refreshStatus().catch(() => {});
    if (signal.aborted) return;
    if (app.status.songs) app.go("#/");
    else again();
  });
  state.stop = () => {
    before?.();
    stop();
  };
}

const STEPS = {
  listens: {
    icon: "people",
    title: "Next: import a listening history",
    words: "Songs are compared by sound alone. With a listening history, nearsong learns what listeners find similar.",
    body: (app) => [listensDrop(app), command(typed(app, "listens import", "FILE"))],
  },
  train: {
    icon: "chart",
    title: "Next: train a model",
    words: "The listening history is imported. Training takes a few minutes; you can keep using the page.",
    body: () => [h("a", { class: "button", href: "#/quality" }, "Train")],
  },
};

export function nextStep(app) {
  const step = STEPS[app.status?.step];
  if (!step || dismissed().includes(app.status.step)) return null;
  if (app.status.step === "train" && !app.status.is_admin) return null;
  const name = app.status.step;
  const box = h(
    "section",
    { class: "note accent next-step", "aria-labelledby": "next-step-title", id: "next-step" },
    icon(step.icon),
    h(
      "div",
      {},
      h("h2", { id: "next-step-title" }, step.title),
      h("p", { class: "muted" }, step.words),
      h("div", { class: "cluster" }, step.body(app)),
    ),
    iconButton("close", "Hide", () => {
      store(DISMISSED, [...dismissed(), name]);
      box.remove();
    }),
  );
  return box;
}

export function listensDrop(app, { params = () => ({}), onDone = null } = {}) {
  const words = [icon("upload"), "Choose or drop a file"];
  const input = h("input", {
    class: "visually-hidden",
    id: "listens-file",
    type: "file",
    on: { change: () => input.files[0] && take(input.files[0]) },
  });
  const label = h("label", { class: "button small listens-drop", for: "listens-file" }, words);
  const take = async (file) => {
    input.disabled = true;
    label.setAttribute("aria-disabled", "true");
    try {
      const job = await upload("/listens", file, {
        params: params(),
        onProgress: (part) => {
          label.textContent = `Uploading ${percent(part)}`;
        },
      });
      label.textContent = "Importing";
      const done = await finished(job);
      if (done.state !== "done") throw Object.assign(new Error("job"), { name: "ApiError", detail: done.words });
      const { sayImported } = await import("../settings/imported.js");
      sayImported(done, app.status.is_admin);
      await app.refreshStatus();
      if (label.isConnected) await (onDone ? onDone() : app.go(location.hash || "#/")); // redraw the view
    } catch (error) {
      sayError(error);
      replace(label, words);
    }
    input.disabled = false;
    label.removeAttribute("aria-disabled");
  };
  label.addEventListener("dragover", (event) => {
    event.preventDefault();
    event.stopPropagation();
    label.classList.add("is-over");
  });
  label.addEventListener("dragleave", () => label.classList.remove("is-over"));
  label.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    label.classList.remove("is-over");
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
  return h(
    "span",
    { class: "listens-upload" },
    input,
    label,
    h("span", { class: "muted small-text" }, "Last.fm, ListenBrainz, Spotify, or a CSV file of plays"),
  );
}

export function learnNote(app) {
  const ready = app.status && app.status.step !== "listens";
  return h(
    "aside",
    { class: "note accent learn-note", "aria-label": "How to improve these results" },
    icon("info"),
    h(
      "div",
      { class: "stack" },
      h(
        "p",
        {},
        ready
          ? "These songs sound similar. Train a model on your listening history to see what listeners find similar."
          : "These songs sound similar. Import a listening history to learn what listeners find similar.",
      ),
      h(
        "div",
        { class: "cluster" },
        ready
          ? h("a", { class: "button small", href: "#/quality" }, "Train")
          : [listensDrop(app), command(typed(app, "listens import", "FILE"))],
      ),
    ),
  );
}

const finished = (job) =>
  new Promise((resolve) => {
    if (isOver(job)) resolve(job);
    else follow(job.id, (now) => isOver(now) && resolve(now));
  });

const dismissed = () => stored(DISMISSED) ?? [];
