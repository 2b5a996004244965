// Why two songs are near: what they share, what parts them, and who listens to both.
//
//   whyPanel(why, {query, other}) -> node        why: WhyOut of the API; query, other: short names for the two
//   whyButton(load, {query, other, label}) -> {button, below}: a button that opens and shuts the panel; load() -> WhyOut

import { isAbort } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { artistOf, brief, count, number, percent, titleOf } from "../format.js";
import { isCurrent, player } from "../player.js";

const SHOWN = 3; // sounds of each kind before one asks for all
const EXAMPLES = 2;

export function whyButton(load, { query, other, label }) {
  const below = h("div", { class: "why", hidden: true });
  let loaded = null;
  const button = h("button", {
    class: "button plain small row-why", type: "button", "aria-expanded": false, "aria-label": label, on: { click: toggle },
  }, "Why?");

  async function toggle() {
    const open = below.hidden;
    button.setAttribute("aria-expanded", String(open));
    below.hidden = !open;
    if (!open || loaded) return;
    replace(below, h("div", { class: "skeleton why-waits" }), h("span", { class: "visually-hidden", role: "status" }, "Comparing the two songs"));
    try {
      loaded = await load();
      replace(below, whyPanel(loaded, { query, other }));
    } catch (error) {
      if (!isAbort(error)) replace(below, h("p", { class: "muted" }, error.detail || "That did not work."));
    }
  }

  below.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || below.hidden) return;
    event.preventDefault();
    toggle();
    button.focus();
  });
  return { button, below };
}

export function whyPanel(why, { query, other }) {
  return h("div", { class: "why-body" },
    listeners(why, query, other),
    sounds(plainFirst(why.together), { title: "What brings them together", none: "No one sound stands out in both.", query, other, kind: "together" }),
    sounds(why.apart, { title: "What parts them", none: "", query, other, kind: "apart" }));
}

function listeners(why, query, other) {
  if (why.same_artist) return h("p", { class: "why-line" }, icon("people"), "Both are by the same artist.");
  const told = why.listeners;
  if (!told) {
    return h("p", { class: "why-line muted" }, icon("people"), "Listeners do not tell: nobody in the listening histories plays one of the two artists.");
  }
  const [first, second] = [brief(artistOf(query)), brief(artistOf(other))];
  const [onlyQuery, onlyOther] = [told.query - told.shared, told.other - told.shared];
  const all = Math.max(1, told.query + told.other - told.shared);
  const part = (n, name) => n > 0 && h("span", { class: `venn-${name}`, vars: { "--part": `${(100 * n) / all}%` } });
  const rank = told.rank ? ` ${ordinal(told.rank)} nearest artist by listeners.` : "";
  return h("div", { class: "why-part" },
    h("h3", {}, icon("people"), "Who listens to both"),
    h("p", {}, `Of ${count(told.query, "person who plays", "people who play")} ${first}, and ${number(told.other)} who `
      + `${told.other === 1 ? "plays" : "play"} ${second}, ${told.shared ? number(told.shared) : "none"} `
      + `${told.shared === 1 ? "plays" : "play"} both.${rank}`),
    h("div", { class: "venn", "aria-hidden": true }, part(onlyQuery, "query"), part(told.shared, "both"), part(onlyOther, "other")),
    h("p", { class: "venn-legend small-text muted" },
      h("span", { class: "key key-query" }, `only ${first}: ${number(onlyQuery)}`),
      h("span", { class: "key key-both" }, `both: ${number(told.shared)}`),
      h("span", { class: "key key-other" }, `only ${second}: ${number(onlyOther)}`)));
}

const ordinal = (n) => {
  if (n === 1) return "It is the";
  const tail = n % 100 >= 11 && n % 100 <= 13 ? "th" : { 1: "st", 2: "nd", 3: "rd" }[n % 10] || "th";
  return `It is the ${n}${tail}`;
};

const above = (sound) => [sound.in_query > sound.usual, sound.in_song > sound.usual];

/** What both have plenty of is the plainest reason, so it comes first; otherwise the heaviest does. */
const plainFirst = (all) => [...all].sort((a, b) => above(b).every(Boolean) - above(a).every(Boolean));

/** The service's own words, with the songs' names where it says "this song" and "the other". */
function reason(sound, query, other) {
  const named = sound.reason.replace(/^this song\b/, brief(titleOf(query))).replace(/^the other\b/, brief(titleOf(other)));
  return `${named[0].toUpperCase()}${named.slice(1)}.`;
}

function sounds(all, { title, none, query, other, kind }) {
  if (!all.length) return none && h("p", { class: "muted" }, none);
  const most = Math.max(0.01, ...all.flatMap((sound) => [sound.in_query, sound.in_song, sound.usual]));
  const list = h("ul", { class: "sounds", role: "list" }, all.slice(0, SHOWN).map((sound) => soundItem(sound, query, other, most)));
  const more = all.length > SHOWN && h("button", { class: "button plain small", type: "button", on: { click: () => {
    const first = all.slice(SHOWN).map((sound) => soundItem(sound, query, other, most));
    list.append(...first);
    more.remove();
    first[0].setAttribute("tabindex", "-1");
    first[0].focus();
  } } }, `Show ${all.length - SHOWN} more`);
  return h("div", { class: `why-part why-${kind}` }, h("h3", {}, title), list, more);
}

function soundItem(sound, query, other, most) {
  const part = (value) => `${value > 0 ? Math.max(2, (100 * value) / most) : 0}%`;
  const line = (name, value, className) => h("div", { class: "sound-line" },
    h("dt", { class: "ellipsis" }, name),
    h("dd", {}, h("div", { class: `bar ${className}`, vars: { "--part": part(value) }, "aria-hidden": true }, h("span")),
      h("span", { class: "number" }, fine(value))));
  const play = (song) => h("li", {}, h("button", {
    class: "chip", type: "button", title: `${titleOf(song)} by ${artistOf(song)}`, "aria-label": `Play ${titleOf(song)} by ${artistOf(song)}`,
    on: { click: () => (isCurrent(song) ? player.toggle() : player.playNow(song)) }, // and what was playing goes on after it
  }, icon("play"), h("span", { class: "ellipsis" }, titleOf(song))));
  return h("li", { class: "sound" },
    h("h4", { class: "sound-words" }, sound.words[0].toUpperCase() + sound.words.slice(1)),
    h("p", { class: "muted" }, reason(sound, query, other)),
    h("dl", {}, line(titleOf(query), sound.in_query, "of-query"), line(titleOf(other), sound.in_song, "of-other"),
      line("the whole library", sound.usual, "of-all")),
    sound.examples.length > 0 && h("div", { class: "sound-examples" }, h("span", { class: "muted" }, "Hear it in:"),
      h("ul", { role: "list" }, sound.examples.slice(0, EXAMPLES).map(play))));
}

const fine = (share) => (share > 0 && share < 0.095 ? (share < 0.001 ? "under 0.1%" : `${(100 * share).toFixed(1)}%`) : percent(share));
