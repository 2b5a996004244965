// Looking for new music from the library view: a button, and how far a scan is, whoever started it.
//
//   scanNote(app) -> {button, node, stop()}     button: null where no folder is known; node: shown while a scan runs

import { h, icon, replace } from "../dom.js";
import { count } from "../format.js";
import { cancelJob, follow, isOver, progressBox, runningJob, startJob } from "../jobs.js";
import { say, sayError } from "../toast.js";

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
    const words = told(job);
    await app.refreshStatus().catch(() => {});
    const look = { label: "Show them", run: () => app.go("#/?sort=newest") };
    say(words, { kind: job.state === "failed" ? "bad" : "good", action: job.result?.added > 0 && !stopped ? look : undefined });
  };

  const start = async () => {
    try { watch(await startJob("scan")); } catch (error) { sayError(error); }
  };

  const button = app.status.folders.length > 0
    ? h("button", { class: "button quiet", id: "scan", type: "button", on: { click: start } }, icon("refresh"), "Look for new music") : null;
  runningJob("scan").then((job) => job && watch(job), () => {}); // the button works without
  return { button, node, stop: () => { stopped = true; stop(); } };
}

function told(job) {
  if (job.state === "failed") return job.error || "The scan did not work.";
  if (job.state === "cancelled") return "Stopped. What was heard is kept.";
  const added = job.result?.added || 0;
  return added ? `${count(added, "new song")} in the library.` : "No new songs.";
}
