// Scanning for new music: a button, and the progress of a running scan, whoever started it.
//
//   scanNote(app) -> {button, node, stop()}     button: null without known folders; node: shown during a scan
//   sayScanned(job, action): shows the result of a finished scan as a toast

import { button, h, icon, replace } from "../../core/dom.js";
import { follow, isOver, progressBox, runningJob, startJob, stopButton } from "../../core/jobs.js";
import { say, sayError } from "../../core/toasts.js";

const UNREADABLE_HELP = "Settings says which and why.";
const terminal = matchMedia("(min-width: 721px)"); // a screen where a command line is likely

export function scanNote(app) {
  const node = h("div", { class: "scan-note", hidden: true });
  let stopped = false;
  let stop = () => {};

  const watch = (job) => {
    if (stopped) return;
    const box = progressBox(job);
    node.hidden = false;
    if (scan) scan.disabled = true;
    replace(node, box.node, stopButton(job));
    stop = follow(job.id, (now) => {
      box.update(now);
      if (isOver(now)) ended(now);
    });
  };

  const ended = async (job) => {
    node.hidden = true;
    if (scan) scan.disabled = false;
    await app.refreshStatus().catch(() => {});
    const look = { label: "Show", run: () => app.go("#/library?sort=newest") };
    sayScanned(job, job.result?.added > 0 && !stopped ? look : undefined);
  };

  const start = async () => {
    try {
      watch(await startJob("scan"));
    } catch (error) {
      sayError(error);
    }
  };

  const scan =
    app.status.folders.length > 0 && app.status.is_admin
      ? button("Scan for new music", start, { id: "scan", class: "button quiet", icon: "refresh" })
      : null;
  app.shown
    .then(() => !stopped && runningJob("library"))
    .then(
      (job) => job && watch(job),
      () => {},
    ); // the button works without
  return {
    button: scan,
    node,
    stop: () => {
      stopped = true;
      stop();
    },
  };
}

export function sayScanned(job, action) {
  const silent = job.result?.unreadable > 0;
  say(silent && terminal.matches ? `${job.words} ${UNREADABLE_HELP}` : job.words, {
    kind: job.state === "failed" ? "bad" : silent ? "info" : "good",
    seconds: silent ? 9 : undefined,
    action,
  });
}
