// Requests to the API. Paths are relative to /api/v1.
//
//   get(path, params, {signal}) -> JSON       params: null, undefined and "" are left out; arrays repeat the name
//   post(path, body, {params, signal}), put(path, body), del(path) -> JSON, or null without a body
//   download(path, body, {method}) -> {blob, name}            (for files such as an exported playlist)
//   upload(path, file, {onProgress, onSent, signal, params}) -> JSON   (multipart, field "file"; onProgress(0..1))
//   url(path, params) -> address for src and href
//   forgetFirst(): the answers that came with the page are no longer current
//   signOut() -> ends the session; the page becomes the form to sign in
//   songUrl.audio(id, {complete}), songUrl.cover(id, pixels)
//   ApiError {status, title, detail, type, retryAfter}; message = detail. status 0: no response.
//   link: EventTarget, "change" when the service stops or starts to respond; link.up: whether it does.
//   health() -> promise that fails where the service does not respond; isUp() -> promise of whether it does
//   whenUp(run): now, or when it is back
//   An AbortError is passed on: isAbort(error).

import { forget } from "./storage.js";

export const ROOT = "/api/v1";

const HEALTH = "/health";
const SLOW_MILLISECONDS = 15000; // a request that waits longer asks whether the service responds at all
const HEALTH_MILLISECONDS = 20000; // a connection without an answer for so long counts as none

export class ApiError extends Error {
  constructor({ status = 0, title = "", detail = "", type = "about:blank", retryAfter = null }) {
    super(detail || title);
    Object.assign(this, { name: "ApiError", status, title, detail: detail || title, type, retryAfter });
  }
}

export const isAbort = (error) => error?.name === "AbortError";

export const link = Object.assign(new EventTarget(), { up: true });

function report(up) {
  if (link.up === up) return;
  link.up = up;
  link.dispatchEvent(new Event("change"));
}

const gone = () => {
  report(false);
  return new ApiError({
    title: "No response",
    detail: "nearsong is not responding. Check that it is running; the page retries automatically.",
  });
};

export function url(path, params) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params || {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") query.append(name, one);
    }
  }
  const tail = query.toString();
  return ROOT + path + (tail ? `?${tail}` : "");
}

export const songUrl = {
  audio: (id, params) => url(`/songs/${Number(id)}/audio`, params),
  cover: (id, pixels) => url(`/songs/${Number(id)}/cover`, { size: pixels, placeholder: "true" }),
};

function problem(status, text, retryAfter) {
  let body = {};
  try {
    body = JSON.parse(text);
  } catch {
    /* a proxy's page, or nothing: the status has to do */
  }
  const detail =
    typeof body.detail === "string" ? body.detail.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase()) : "";
  const wait = Number(retryAfter) || null;
  if (status === 401) toLogin();
  return new ApiError({
    status,
    retryAfter: wait,
    type: body.type,
    title: body.title || "Something went wrong",
    detail: detail || body.title || `The server returned error ${status}.`,
  });
}

/** End the session of this browser and show the form to sign in. */
export async function signOut() {
  const answer = await fetch("/logout", { method: "POST", redirect: "manual" }).catch(() => Promise.reject(gone()));
  if (answer.type !== "opaqueredirect") throw problem(answer.status, await answer.text());
  forget(); // what one listener queued is not for the next
  location.replace("/login");
}

function toLogin() {
  if (location.pathname !== "/login") location.assign("/login");
}

const FIRST = new Set(["/status", "/home"]); // what the page may end with the answers to
let first = null; // {path: answer}, once the end of the page is there

const isWhole = () => document.readyState !== "loading";
const whole = () => new Promise((done) => document.addEventListener("DOMContentLoaded", done, { once: true }));

/** The answer that came with the page, once; undefined if it has to be asked for. */
async function takeFirst(path, params) {
  if (!FIRST.has(path) || url(path, params) !== ROOT + path) return undefined;
  if (!first && !isWhole()) await whole();
  first ??= JSON.parse(document.getElementById("first-answers")?.textContent || "{}");
  const answer = first[path];
  delete first[path];
  return answer;
}

export const forgetFirst = () => {
  first = {};
};

async function send(method, path, { params, body, signal } = {}) {
  const headers = { Accept: "application/json, application/problem+json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  const look = () => link.up && path !== HEALTH && health().catch(() => {});
  const slow = setTimeout(look, SLOW_MILLISECONDS);
  try {
    answer = await fetch(url(path, params), {
      method,
      headers,
      signal,
      credentials: "same-origin",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    throw isAbort(error) ? error : gone();
  } finally {
    clearTimeout(slow);
  }
  report(true);
  if (!answer.ok) throw problem(answer.status, await answer.text().catch(() => ""), answer.headers.get("Retry-After"));
  return answer;
}

async function json(answer) {
  if (answer.status === 204) return null;
  const text = await answer.text();
  return text ? JSON.parse(text) : null;
}

export const get = async (path, params, { signal } = {}) =>
  (await takeFirst(path, params)) ?? json(await send("GET", path, { params, signal }));
export const post = async (path, body = {}, { params, signal } = {}) =>
  json(await send("POST", path, { params, body, signal }));
export const put = async (path, body = {}) => json(await send("PUT", path, { body }));
export const del = async (path) => json(await send("DELETE", path));

/** Ask whether the service responds; a connection that hangs, as after a change of networks, does not. */
export async function health() {
  const controller = new AbortController();
  const late = () => controller.abort(Object.assign(new Error("no answer"), { name: "TimeoutError" }));
  const timer = setTimeout(late, HEALTH_MILLISECONDS);
  try {
    return await get(HEALTH, null, { signal: controller.signal });
  } finally {
    clearTimeout(timer);
  }
}

/** Whether the service responds. */
export const isUp = () =>
  health().then(
    () => true,
    () => link.up,
  );

/** Run something when the service responds: at once, or when it is back. */
export function whenUp(run) {
  const look = () => {
    if (!link.up) return;
    link.removeEventListener("change", look);
    run();
  };
  link.addEventListener("change", look);
  look();
}

export async function download(path, body, { method = "POST" } = {}) {
  const answer = await send(method, path, { body });
  const header = answer.headers.get("Content-Disposition") || "";
  const wide = /filename\*=UTF-8''([^;]+)/i.exec(header);
  const plain = /filename="?([^";]+)"?/i.exec(header);
  return { blob: await answer.blob(), name: wide ? decodeURIComponent(wide[1]) : plain ? plain[1] : "" };
}

export function upload(path, file, { onProgress, onSent, signal, params } = {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch has no upload progress
    request.open("POST", url(path, params));
    request.setRequestHeader("Accept", "application/json, application/problem+json");
    request.upload.addEventListener(
      "progress",
      (event) => event.lengthComputable && onProgress?.(event.loaded / event.total),
    );
    request.upload.addEventListener("load", () => onSent?.());
    request.addEventListener("load", () => {
      report(true);
      if (request.status < 200 || request.status > 299) {
        return reject(problem(request.status, request.responseText, request.getResponseHeader("Retry-After")));
      }
      try {
        resolve(request.responseText ? JSON.parse(request.responseText) : null);
      } catch {
        reject(problem(request.status, ""));
      }
    });
    request.addEventListener("error", () => reject(gone()));
    request.addEventListener("abort", () => reject(new DOMException("cancelled", "AbortError")));
    signal?.addEventListener("abort", () => request.abort());
    if (signal?.aborted) return reject(new DOMException("cancelled", "AbortError"));
    const form = new FormData();
    form.append("file", file, file.name);
    request.send(form);
  });
}
