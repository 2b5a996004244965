// Looking for new music from the library view: a button, and how far a scan is, whoever started it.
//
//   scanNote(app) -> {button, node, stop()}     button: null where no folder is known; node: shown while a scan runs
//   sayScanned(job, action): what a scan that has ended has found, as a message

import { h, icon, replace } from "../dom.js";
import { count } from "../format.js";
import { cancelJob, follow, isOver, progressBox, runningJob, startJob } from "../jobs.js";
import { say, sayError } from "../toast.js";

const terminal = matchMedia("(min-width: 721px)"); // where a command can be typed

export function scanNote(app) {
  const node = h("div", { class: "scan-note", hidden: true });
  let [stopped, stop] = [false, () => {}];

  const watch = (job) => {
    if (stopped) return;
    const box = progressBox(job);
    node.hidden = false;
    if (button) button.disabled = true;
    replace(node, box.node, h("button", { class: "button quiet small", type: "button", on: { click: () => cancelJob(job.id).catch(sayError) } }, "Stop"));
    stop = follow(job.id, (now) => {
      box.update(now);
      if (isOver(now)) ended(now);
    });
  };

  const ended = async (job) => {
    node.hidden = true;
    if (button) button.disabled = false;
    await app.refreshStatus().catch(() => {});
    const look = { label: "Show them", run: () => app.go("#/?sort=newest") };
    sayScanned(job, job.result?.added > 0 && !stopped ? look : undefined);
  };

  const start = async () => {
    try { watch(await startJob("scan")); } catch (error) { sayError(error); }
  };

  const button = app.status.folders.length > 0
    ? h("button", { class: "button quiet", id: "scan", type: "button", on: { click: start } }, icon("refresh"), "Look for new music") : null;
  runningJob("scan").then((job) => job && watch(job), () => {}); // the button works without
  return { button, node, stop: () => { stopped = true; stop(); } };
}

export function sayScanned(job, action) {
  const silent = job.result?.unreadable > 0;
  say(told(job), { kind: job.state === "failed" ? "bad" : silent ? "info" : "good", seconds: silent ? 9 : undefined, action });
}

function told(job) {
  if (job.state === "failed") return job.error || "The scan did not work.";
  if (job.state === "cancelled") return "Stopped. What was heard is kept.";
  const { added = 0, unreadable = 0 } = job.result || {};
  const silent = unreadable ? ` ${count(unreadable, "file")} could not be heard${terminal.matches ? "; “nearsong status --unreadable” says why" : ""}.` : "";
  return `${added ? `${count(added, "new song")} in the library.` : "No new songs."}${silent}`;
}
