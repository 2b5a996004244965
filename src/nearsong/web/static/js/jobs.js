// Work that takes minutes (scan, train, map), followed while it goes on.
//
//   startJob(kind, folders = []) -> job        cancelJob(id)        runningJob(kind) -> job or null
//   follow(jobId, onChange) -> stop()          onChange(job) at once and at every change; it ends by itself when the job does
//   isOver(job)
//   progressBox(job) -> {node, update(job)}: stage in words, bar and numbers
//   clock(job, signal) -> node: "12 s so far", of the job, not of this page

import { ApiError, del, get, post, url } from "./api.js";
import { h } from "./dom.js";
import { longTime, number } from "./format.js";

const LONGEST = 864e5; // milliseconds that work is believed to take
const EVERY = 1500; // milliseconds between questions where events do not come through

export const startJob = (kind, folders = []) => post("/jobs", kind === "scan" ? { kind, folders } : { kind });
export const cancelJob = (id) => del(`/jobs/${encodeURIComponent(id)}`);
export const isOver = (job) => ["done", "failed", "cancelled"].includes(job.state);

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
  const [words, counted] = [h("span", { "aria-live": "polite" }), h("span", { class: "number muted" })]; // numbers are not read out as they run
  const bar = h("div", { class: "bar", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100 }, h("span"));
  const node = h("div", { class: "progress-box", role: "group", "aria-label": "Progress" },
    h("div", { class: "progress-words" }, words, counted), bar);
  const write = (place, text) => { if (place.textContent !== text) place.textContent = text; };
  const update = (now) => {
    const share = now.total > 0 ? Math.round(100 * Math.min(1, now.done / now.total)) : 0;
    write(words, now.state === "waiting" ? "Waiting for its turn" : now.stage || "Working");
    write(counted, !now.done ? "" : now.total > 0 ? `${number(now.done)} of ${number(now.total)}` : `${number(now.done)} so far`);
    bar.classList.toggle("unknown", !share); // what cannot tell how far it is says 0 until its end; it moves all the same
    bar.style.setProperty("--part", `${share}%`);
    bar.setAttribute("aria-label", words.textContent);
    if (share) bar.setAttribute("aria-valuenow", String(share));
    else bar.removeAttribute("aria-valuenow");
  };
  update(job);
  return { node, update };
}

export function clock(job, signal) {
  const node = h("span", { class: "muted small-text number" }), seen = Date.now();
  const told = 1000 * (job.started ?? 0), began = seen - told > 0 && seen - told < LONGEST ? told : seen; // clocks may differ
  const tick = () => { node.textContent = `${longTime((Date.now() - began) / 1000)} so far`; };
  const timer = setInterval(() => (node.isConnected ? tick() : clearInterval(timer)), 1000);
  signal.addEventListener("abort", () => clearInterval(timer));
  tick();
  return node;
}
