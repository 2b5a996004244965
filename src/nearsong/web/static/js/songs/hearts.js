// The songs that have a heart, and what shows and changes them.
//
//   startHearts(app): loads them; where the service records nothing, no heart is shown
//   hearts: EventTarget, "change"; hearts.shown: whether there are any to give; hearts.has(song)
//       "told" (detail {song, reaction}): liked, a heart was given; played, it was removed; skipped, less is wanted
//   toggleHeart(song): gives or removes a heart
//   heartButton(song, props) -> <button class="icon-button heart">, pressed if the song has one
//   lessButton(song, less) -> <button class="icon-button row-less">, which calls less()
//   markHearts(node): what is put back into the page shows what was loaded meanwhile
//   lessLike(song) -> promise of whether the service was told that less like this is wanted

import { del, get, post, put } from "../core/api.js";
import { announce, iconButton } from "../core/dom.js";
import { brief, titleOf } from "../core/format.js";
import { say, sayError } from "../core/toasts.js";

class Hearts extends EventTarget {
  shown = false;
  isPending = true; // until it is known which there are, or that there are none to give
  #songs = new Set();

  has(song) {
    return this.#songs.has(song.id);
  }

  set(song, on) {
    if (on) this.#songs.add(song.id);
    else this.#songs.delete(song.id);
    this.#tell();
  }

  fill(songs) {
    this.#songs = new Set(songs);
    this.shown = true;
    this.isPending = false;
    this.#tell();
  }

  /** There are none to give. */
  leaveOut() {
    if (!this.isPending) return;
    this.isPending = false;
    this.#tell();
  }

  tell(song, reaction) {
    this.dispatchEvent(new CustomEvent("told", { detail: { song, reaction } }));
  }

  #tell() {
    this.dispatchEvent(new Event("change"));
  }
}

export const hearts = new Hearts();

const RETRY_MILLISECONDS = 3000;

export function startHearts(app) {
  let timer = 0;
  const load = async () => {
    clearTimeout(timer);
    if (hearts.shown || !app.status) return;
    if (!app.status.records_plays) return hearts.leaveOut();
    await app.shown;
    if (hearts.shown) return;
    const found = await get("/hearts").catch(() => null);
    if (found && !hearts.shown) hearts.fill(found.map((heart) => heart.song_id));
    else if (!hearts.shown) timer = setTimeout(load, RETRY_MILLISECONDS); // or with the next status
  };
  app.events.addEventListener("status", load);
}

const path = (song) => `/songs/${Number(song.id)}/heart`;

export async function toggleHeart(song) {
  if (!hearts.shown || song.src) return; // an uploaded file is not in the library
  const on = !hearts.has(song);
  hearts.set(song, on); // at once: the service is rarely of another opinion
  try {
    await (on ? put(path(song)) : del(path(song)));
    hearts.tell(song, on ? "liked" : "played");
    // a focused heart is announced as pressed or not
    if (!document.activeElement?.matches(".heart")) announce(on ? "Heart given" : "Heart removed");
  } catch (error) {
    hearts.set(song, !on);
    sayError(error);
  }
}

export async function lessLike(song) {
  try {
    await post("/skips", { song_id: song.id });
    say(`Less like “${brief(titleOf(song))}” from now on.`);
    hearts.tell(song, "skipped");
    return true;
  } catch (error) {
    sayError(error);
    return false;
  }
}

// removed buttons are garbage-collected
const buttons = new WeakMap();

export function heartButton(song, { class: name = "", ...props } = {}) {
  const button = iconButton("heart", `Heart ${titleOf(song)}`, () => toggleHeart(song), {
    class: `icon-button heart ${name}`.trim(),
    title: "Heart",
    ...props,
  });
  buttons.set(button, song);
  mark(button, song);
  return button;
}

export function lessButton(song, less) {
  const button = iconButton("less", `Less like ${titleOf(song)}`, less, {
    class: "icon-button row-less",
    title: "Less like this",
  });
  buttons.set(button, song);
  mark(button, song);
  return button;
}

/** Hearts may be loaded after a list was drawn: until then its buttons keep their space, so that nothing moves. */
function mark(button, song) {
  button.hidden = Boolean(song.src) || !(hearts.shown || hearts.isPending);
  button.classList.toggle("is-pending", hearts.isPending);
  if (button.matches(".heart")) button.setAttribute("aria-pressed", String(hearts.has(song)));
}

export function markHearts(node) {
  for (const button of node.querySelectorAll(".heart, .row-less")) {
    const song = buttons.get(button);
    if (song) mark(button, song);
  }
}

hearts.addEventListener("change", () => markHearts(document));
