// Learning from listeners, started and watched from the page.
//
//   trainingBox({app, onDone(job), learnedBefore}) -> node

import { h, icon, replace } from "../dom.js";
import { cancelJob, clock, follow, isOver, progressBox, runningJob, startJob } from "../jobs.js";
import { sayError } from "../toast.js";

export function trainingBox({ app, onDone, learnedBefore }) {
  const { signal } = app, place = h("div", { class: "training", id: "training" });

  const idle = (note = null) => replace(
    place, note,
    h("button", { id: "train", class: "button", type: "button", on: { click: start } }, icon("people"),
      learnedBefore ? "Learn again from listeners" : "Learn from listeners now"),
    h("p", { class: "muted small-text" }, "It keeps what it has if the new is no better. You can go on listening meanwhile."),
  );

  async function start(event) {
    event.currentTarget.disabled = true;
    try {
      watch(await startJob("train"));
    } catch (error) {
      if (signal.aborted) return;
      idle(warn(error.detail || "Learning could not be started."));
    }
  }

  function watch(job) {
    const box = progressBox(job);
    const cancel = () => {
      stop.disabled = true;
      cancelJob(job.id).catch(sayError);
    };
    const stop = h("button", { class: "button quiet small", type: "button", id: "train-cancel", on: { click: cancel } }, "Stop");
    replace(place, h("div", { class: "training-run" }, box.node), h("div", { class: "cluster" }, clock(job, signal), stop));
    const unfollow = follow(job.id, (now) => {
      if (signal.aborted) return;
      box.update(now);
      if (!isOver(now)) return;
      if (now.state === "done") onDone(now);
      else idle(now.state === "failed" ? warn(now.error || "Learning did not work.") : h("p", { class: "muted" }, "Stopped. Nothing has changed."));
    });
    signal.addEventListener("abort", unfollow);
  }

  idle();
  runningJob("train").then((job) => { if (job && !signal.aborted) watch(job); }, () => { /* the button works without */ });
  return place;
}

const warn = (text) => h("div", { class: "note warn", role: "alert" }, icon("warning"), h("p", {}, text));
