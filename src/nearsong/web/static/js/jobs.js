// Work that takes minutes (scan, train, map), followed while it goes on.
//
//   startJob(kind, folders = []) -> job        cancelJob(id)        runningJob(kind) -> job or null
//   follow(jobId, onChange) -> stop()          onChange(job) at once and at every change; it ends by itself when the job does
//   isOver(job), jobPart(job) -> 0..1 or null if how much there is is not known
//   progressBox(job) -> {node, update(job)}: stage in words, bar and numbers

import { ApiError, del, get, post, url } from "./api.js";
import { h, replace } from "./dom.js";
import { number } from "./format.js";

const EVERY = 1500; // milliseconds between questions where events do not come through

export const startJob = (kind, folders = []) => post("/jobs", kind === "scan" ? { kind, folders } : { kind });
export const cancelJob = (id) => del(`/jobs/${encodeURIComponent(id)}`);
export const isOver = (job) => ["done", "failed", "cancelled"].includes(job.state);
export const jobPart = (job) => (job.total > 0 ? Math.min(1, job.done / job.total) : null);

export async function runningJob(kind) {
  const answer = await get("/jobs");
  const jobs = Array.isArray(answer) ? answer : answer.items || [];
  return jobs.find((job) => job.kind === kind && !isOver(job)) || null;
}

export function follow(jobId, onChange) {
  const path = `/jobs/${encodeURIComponent(jobId)}`;
  let [source, timer, stopped, last] = [null, 0, false, ""];

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
      if (error instanceof ApiError && error.status === 404) return stop(); // the service started anew and does not know it any more
    }
    if (!stopped) timer = setTimeout(ask, EVERY);
  };

  const listen = (event) => {
    try { hear(JSON.parse(event.data)); } catch { /* a line that is no job */ }
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

export function progressBox(job) {
  const node = h("div", { class: "progress-box", role: "group", "aria-label": "Progress" });
  const update = (now) => {
    const part = jobPart(now);
    const share = part === null ? null : Math.round(100 * part);
    const words = now.state === "waiting" ? "Waiting for its turn" : now.stage || "Working";
    replace(
      node,
      h("div", { class: "progress-words" }, h("span", {}, words),
        now.total > 0 && h("span", { class: "number muted" }, `${number(now.done)} of ${number(now.total)}`)),
      h("div", {
        class: ["bar", share === null && "unknown"], role: "progressbar", "aria-label": words, "aria-valuemin": 0, "aria-valuemax": 100,
        "aria-valuenow": share ?? undefined, vars: { "--part": `${share ?? 0}%` },
      }, h("span")),
    );
  };
  update(job);
  return { node, update };
}
