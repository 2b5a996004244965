// Jobs. What they are called and what came of them is told by the API: `title`, `stage`, `words`.
//
//   startJob(kind, parameters) -> job        stopButton(job) -> a button that cancels it
//   runningJob(view) -> the job that this view follows, or null
//   follow(jobId, onChange) -> stop()          onChange(job) at once and at every change until the job ends
//   isOver(job)
//   progressBox(job) -> {node, update(job)}: stage, bar and numbers
//   clock(job, signal) -> node: "12 s so far"

import { ApiError, del, get, post, url } from "./api.js";
import { button, h } from "./dom.js";
import { longTime, number } from "./format.js";
import { sayError } from "./toasts.js";

const MAX_JOB_MILLISECONDS = 864e5; // a longer duration means that the clocks differ
const POLL_MILLISECONDS = 1500; // polling, where server-sent events do not work

export const startJob = (kind, parameters = {}) => post("/jobs", { kind, ...parameters });
export const isOver = (job) => ["done", "failed", "cancelled"].includes(job.state);

export async function runningJob(view) {
  const jobs = await get("/jobs");
  return jobs.find((job) => job.view === view && !isOver(job)) || null;
}

export function follow(jobId, onChange) {
  const path = `/jobs/${encodeURIComponent(jobId)}`;
  let source = null;
  let timer = 0;
  let stopped = false;
  let last = "";

  const stop = () => {
    stopped = true;
    source?.close();
    clearTimeout(timer);
  };

  const hear = (job) => {
    if (stopped) return;
    const now = JSON.stringify(job);
    if (isOver(job)) stop();
    if (now === last) return;
    last = now;
    onChange(job);
  };

  const ask = async () => {
    if (stopped) return;
    try {
      hear(await get(path));
    } catch (error) {
      // the service was restarted and does not know the job
      if (error instanceof ApiError && error.status === 404) return stop();
    }
    if (!stopped) timer = setTimeout(ask, POLL_MILLISECONDS);
  };

  const listen = (event) => {
    try {
      hear(JSON.parse(event.data));
    } catch {
      /* a line that is not a job */
    }
  };

  if ("EventSource" in window) {
    source = new EventSource(url(`${path}/events`));
    source.addEventListener("progress", listen);
    source.addEventListener("error", () => {
      source.close();
      if (!stopped) ask();
    });
  } else ask();
  return stop;
}

export function stopButton(job) {
  const cancel = () => {
    stop.disabled = true;
    del(`/jobs/${encodeURIComponent(job.id)}`).catch(sayError);
  };
  const stop = button("Stop", cancel, { class: "button quiet small" });
  return stop;
}

export function progressBox(job) {
  const words = h("span", { "aria-live": "polite" });
  const counted = h("span", { class: "number muted" }); // not announced
  const bar = h("div", { class: "bar", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100 }, h("span"));
  const node = h(
    "div",
    { class: "progress-box", role: "group", "aria-label": job.title },
    h("div", { class: "progress-words" }, words, counted),
    bar,
  );
  const write = (node, text) => {
    if (node.textContent !== text) node.textContent = text;
  };
  const update = (now) => {
    const share = now.total > 0 ? Math.round(100 * Math.min(1, now.done / now.total)) : 0;
    write(words, now.state === "pending" ? "Queued" : now.stage || "Working");
    write(
      counted,
      !now.done ? "" : now.total > 0 ? `${number(now.done)} of ${number(now.total)}` : `${number(now.done)} so far`,
    );
    // without known progress the bar moves back and forth
    bar.classList.toggle("unknown", !share);
    bar.style.setProperty("--part", `${share}%`);
    bar.setAttribute("aria-label", words.textContent);
    if (share) bar.setAttribute("aria-valuenow", String(share));
    else bar.removeAttribute("aria-valuenow");
  };
  update(job);
  return { node, update };
}

export function clock(job, signal) {
  const node = h("span", { class: "muted small-text number" });
  const seen = Date.now();
  const started = 1000 * (job.started ?? 0);
  const began = seen - started > 0 && seen - started < MAX_JOB_MILLISECONDS ? started : seen; // the clocks may differ
  const tick = () => {
    node.textContent = `${longTime((Date.now() - began) / 1000)} so far`;
  };
  const timer = setInterval(() => (node.isConnected ? tick() : clearInterval(timer)), 1000);
  signal.addEventListener("abort", () => clearInterval(timer));
  tick();
  return node;
}
