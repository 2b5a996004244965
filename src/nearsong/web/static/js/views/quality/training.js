// Starts a training and shows its progress.
//
//   trainingBox({app, onDone(job), learnedBefore}) -> node

import { button, h, icon, replace } from "../../core/dom.js";
import { clock, follow, isOver, progressBox, runningJob, startJob, stopButton } from "../../core/jobs.js";

export function trainingBox({ app, onDone, learnedBefore }) {
  const { signal } = app;
  const box = h("div", { class: "training", id: "training" });

  const idle = (note = null) =>
    replace(
      box,
      note,
      !app.status.is_admin && h("p", {}, "Only an admin can start a training."),
      app.status.is_admin &&
        button(learnedBefore ? "Train again" : "Train now", start, { id: "train", icon: "people" }),
      h(
        "p",
        { class: "muted small-text" },
        "The new model is only used if it is better. You can keep listening during training.",
      ),
    );

  async function start(event) {
    event.currentTarget.disabled = true;
    try {
      watch(await startJob("train"));
    } catch (error) {
      if (signal.aborted) return;
      idle(warn(error.detail || "Training could not be started."));
    }
  }

  function watch(job) {
    const progress = progressBox(job);
    replace(
      box,
      h("div", { class: "training-run" }, progress.node),
      h("div", { class: "cluster" }, clock(job, signal), stopButton(job)),
    );
    const unfollow = follow(job.id, (now) => {
      if (signal.aborted) return;
      progress.update(now);
      if (!isOver(now)) return;
      if (now.state === "done") onDone(now);
      else idle(now.state === "failed" ? warn(now.words) : h("p", { class: "muted" }, now.words));
    });
    signal.addEventListener("abort", unfollow);
  }

  idle();
  runningJob("quality").then(
    (job) => {
      if (job && !signal.aborted) watch(job);
    },
    () => {
      /* the button works without */
    },
  );
  return box;
}

const warn = (text) => h("div", { class: "note warn", role: "alert" }, icon("warning"), h("p", {}, text));
