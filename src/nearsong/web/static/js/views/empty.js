// What to do when something is missing: no songs, no listens, nothing learned. Each says one next step and how.
//
//   emptyLibrary(root, app) -> clean-up: the library view without a library, with a scan that can be started and watched
//   nextStep(app) -> a banner with the next step for the library view, or null (dismissed, or nothing to do)
//   command(text) -> a command to type, with a button that copies it
//   typed(app, words, what) -> the command that does something to this library
//   listensDrop(app) -> a place to drop a listening history
//   learnNote(app) -> the note of a song page while nothing is learned

import { upload } from "../api.js";
import { h, icon, iconButton, replace } from "../dom.js";
import { count, percent } from "../format.js";
import { cancelJob, follow, isOver, progressBox, runningJob, startJob } from "../jobs.js";
import { say, sayError } from "../toast.js";
import { sayScanned } from "./scan_note.js";

const DISMISSED = "nearsong.dismissed";
const CHOOSE = "Choose a folder with music";

export function command(text) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      say("Copied.", { kind: "good" });
    } catch {
      getSelection().selectAllChildren(code);
      say("Marked: copy it with Ctrl + C.");
    }
  };
  const code = h("code", { tabindex: "0" }, text);
  return h("div", { class: "command" }, code, iconButton("copy", `Copy: ${text}`, copy));
}

export function typed(app, words, what) {
  const { library } = app.status; // null where nearsong finds it by itself
  const place = library && (/^[\w@%+=:,./-]+$/.test(library) ? library : `'${library.replaceAll("'", "'\\''")}'`);
  return ["nearsong", words, place && `--library ${place}`, what].filter(Boolean).join(" ");
}

const later = (title, words) => h("li", {}, h("div", {}, h("h2", { class: "muted" }, title), h("p", { class: "muted" }, words)));

export function emptyLibrary(root, app) {
  app.title("Welcome");
  const place = h("div", { class: "stack" });
  const state = { stop: null };
  state.title = h("h2", {}, CHOOSE);
  replace(root, h("div", { class: "empty" },
    icon("library"),
    h("h1", { tabindex: "-1" }, "Let’s hear your music"),
    h("p", { class: "muted" }, "nearsong listens to the files in a folder and finds out which songs are near each other. ",
      "It never changes or sends your files."),
    h("ol", { class: "steps", role: "list" },
      h("li", { class: "is-now" }, h("div", {}, state.title, place)),
      later("Give it a listening history", "From Last.fm, ListenBrainz or Spotify. It may be somebody else’s."),
      later("Let it learn what listeners hear as near", "Takes some minutes. Songs nobody has played yet are found from then on."))));
  scanPlace(place, app, state);
  return () => state.stop?.();
}

async function scanPlace(place, app, state) {
  const typing = app.status.may_add_folders ? "Or type in a terminal:" : "Type in a terminal, with your folder:";
  const fresh = () => {
    state.title.textContent = CHOOSE;
    replace(place, folderForm(app, watch), h("p", { class: "muted" }, typing),
      command(typed(app, "scan", "FOLDER")), h("p", { class: "muted small-text" }, "This page notices by itself when songs have come."));
  };
  const watch = (job) => watchScan(job, place, app, state, fresh), { signal } = app;
  fresh();
  const timer = setInterval(async () => { // a scan in a terminal, too, brings the first songs
    try {
      const { songs } = await app.refreshStatus();
      if (songs && !state.job && !signal.aborted) return app.go("#/");
      const elsewhere = !state.job && (await runningJob("scan")); // somebody has begun on another page
      if (elsewhere && !state.job && !signal.aborted) watch(elsewhere);
      const look = songs && place.querySelector("a.button");
      if (look) look.hidden = false; // there is something to look at while the scan goes on
    } catch { /* the banner tells */ }
  }, 4000);
  state.stop = () => clearInterval(timer);
  try {
    const job = await runningJob("scan");
    if (job && !state.job && !signal.aborted) watch(job);
  } catch { /* the form works without */ }
}

function folderForm(app, started) {
  if (!app.status.may_add_folders) return null;
  const field = h("input", {
    class: "input", id: "folder", name: "folder", placeholder: "/home/me/Music", required: true, "aria-describedby": "folder-error",
    autocomplete: "off", spellcheck: "false",
  });
  const wrong = h("p", { class: "field-error", id: "folder-error", role: "alert" });
  const send = async (event) => {
    event.preventDefault();
    button.disabled = true;
    wrong.textContent = "";
    try {
      started(await startJob("scan", [field.value.trim().replace(/^(["'])(.*)\1$/, "$2")])); // as file managers copy it
    } catch (error) {
      wrong.textContent = error.detail || "That did not work.";
      field.focus();
    }
    button.disabled = false;
  };
  const button = h("button", { class: "button", type: "submit" }, "Listen to it");
  return h("form", { class: "stack", on: { submit: send } },
    h("div", { class: "field" }, h("label", { for: "folder" }, "Folder on the computer that runs nearsong"),
      h("div", { class: "folder-form" }, field, button), wrong));
}

function watchScan(job, place, app, state, again) {
  const box = progressBox(job);
  const before = state.stop, { signal } = app;
  state.job = job;
  state.title.textContent = "Listening to your music";
  const look = (event) => {
    event.preventDefault();
    state.job = null;
    app.refreshStatus().then(() => app.go("#/"), sayError);
  };
  replace(place, box.node, h("div", { class: "cluster" },
    h("a", { class: "button", href: "#/", hidden: true, on: { click: look } }, "Look at the first songs"),
    h("button", { class: "button quiet small", type: "button", on: { click: () => cancelJob(job.id).catch(sayError) } }, "Stop")));
  const stop = follow(job.id, async (now) => {
    box.update(now);
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
    title: "Next: a listening history",
    words: "So far songs are compared by sound alone. With a history of what people play, nearsong learns which sounds listeners hear as near.",
    body: (app) => [listensDrop(app), command(typed(app, "listens import", "FILE"))],
  },
  train: {
    icon: "chart",
    title: "Next: learn from the listens",
    words: "The listening history is here. Learning takes some minutes; you can go on using the page.",
    body: () => [h("a", { class: "button", href: "#/quality" }, "Start learning")],
  },
};

export function nextStep(app) {
  const step = STEPS[app.status?.step];
  if (!step || dismissed().includes(app.status.step)) return null;
  const name = app.status.step;
  const box = h("section", { class: "note accent next-step", "aria-labelledby": "next-step-title", id: "next-step" },
    icon(step.icon),
    h("div", {}, h("h2", { id: "next-step-title" }, step.title), h("p", { class: "muted" }, step.words), h("div", { class: "cluster" }, step.body(app))),
    iconButton("close", "Hide this advice", () => { dismiss(name); box.remove(); }));
  return box;
}

export function listensDrop(app) {
  const words = [icon("upload"), "Choose or drop the export"];
  const input = h("input", { class: "visually-hidden", id: "listens-file", type: "file", on: { change: () => input.files[0] && take(input.files[0]) } });
  const label = h("label", { class: "button small listens-drop", for: "listens-file" }, words);
  const take = async (file) => {
    input.disabled = true;
    label.setAttribute("aria-disabled", "true");
    try {
      const job = await upload("/listens", file, { onProgress: (part) => { label.textContent = `Sending ${percent(part)}`; } });
      label.textContent = "Reading it";
      const done = await finished(job);
      if (done.state !== "done") throw Object.assign(new Error("job"), { name: "ApiError", detail: done.error || "The history was not read." });
      say(found(done.result), { kind: "good" });
      await app.refreshStatus();
      if (label.isConnected) app.go(location.hash || "#/"); // the same view, which now has something to say
    } catch (error) {
      sayError(error);
      replace(label, words);
    }
    input.disabled = false;
    label.removeAttribute("aria-disabled");
  };
  label.addEventListener("dragover", (event) => { event.preventDefault(); event.stopPropagation(); label.classList.add("is-over"); });
  label.addEventListener("dragleave", () => label.classList.remove("is-over"));
  label.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    label.classList.remove("is-over");
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
  return h("span", { class: "listens-place" }, input, label,
    h("span", { class: "muted small-text" }, "Last.fm, ListenBrainz, Spotify, or a table of who played what"));
}

export function learnNote(app) {
  const ready = app.status && app.status.step !== "listens";
  return h("aside", { class: "note accent learn-note", "aria-label": "How to learn" }, icon("info"),
    h("div", { class: "stack" }, h("p", {}, ready
      ? "These are near by sound alone. There is a listening history: let nearsong learn from it what listeners hear as near, and this page shows both side by side."
      : "These are near by sound alone. Give nearsong a listening history, and it learns what listeners hear as near; this page then shows both side by side."),
    h("div", { class: "cluster" }, ready
      ? h("a", { class: "button small", href: "#/quality" }, "Start learning") : [listensDrop(app), command(typed(app, "listens import", "FILE"))])));
}

const found = (result) => (result?.rows
  ? `${count(result.rows, "line")} read. ${percent(result.share_found)} of what was played is in this library.` : "The listening history is here.");

const finished = (job) => new Promise((resolve) => {
  if (isOver(job)) resolve(job);
  else follow(job.id, (now) => isOver(now) && resolve(now));
});

function dismissed() {
  try { return JSON.parse(sessionStorage.getItem(DISMISSED)) || []; } catch { return []; }
}

function dismiss(name) {
  try { sessionStorage.setItem(DISMISSED, JSON.stringify([...dismissed(), name])); } catch { /* it comes back next time */ }
}
