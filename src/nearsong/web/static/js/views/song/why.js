// Why two songs are similar: one sentence, what they share to hear, and the details folded away.
//
//   whyButton(load, {query, other, label, find}) -> {button, below}: a button that toggles the panel
//     load() -> Promise of WhyOut of the API; query, other: the two songs
//     find() -> Promise of MomentOut; missing: there is nothing to hear

import { isAbort } from "../../core/api.js";
import { button, h, icon, replace } from "../../core/dom.js";
import { onEscape } from "../../core/escape.js";
import { artistOf, brief, count, number, percent, titleOf } from "../../core/format.js";
import { isCurrent, player } from "../../player/player.js";
import { nearerThan } from "../../songs/closeness.js";
import { skeleton } from "../../widgets/skeleton.js";
import { sharedMoment } from "./shared_moment.js";

const MAX_SOUNDS = 3; // of each kind, before "Show more"
const EXAMPLES = 2;

export function whyButton(load, { query, other, label, find }) {
  const below = h("div", { class: "why", hidden: true });
  const moment = find && sharedMoment(query, other, { find });
  let loaded = null;
  const opener = button("Why?", toggle, {
    class: "button plain small row-why",
    "aria-expanded": false,
    "aria-label": label,
  });

  let release = () => {};
  const closeByEscape = () => {
    toggle();
    opener.focus();
  };

  async function toggle() {
    const open = below.hidden;
    opener.setAttribute("aria-expanded", String(open));
    below.hidden = !open;
    release();
    if (open) release = onEscape(closeByEscape, below);
    else moment?.stop();
    if (!open || loaded) return;
    replace(
      below,
      skeleton("lines", 3),
      h("span", { class: "visually-hidden", role: "status" }, "Comparing the songs"),
    );
    try {
      loaded = await load();
      replace(below, whyPanel(loaded, { query, other, moment }));
    } catch (error) {
      if (!isAbort(error)) replace(below, h("p", { class: "muted" }, error.detail || "Something went wrong."));
    }
  }

  return { button: opener, below };
}

function whyPanel(why, { query, other, moment }) {
  const opposed = why.traits.opposed.map(
    ([first, second]) => `${brief(titleOf(query))} is ${first}, ${brief(titleOf(other))} ${second}`,
  );
  return h(
    "div",
    { class: "why-body" },
    h("p", { class: "why-lead" }, why.lead),
    opposed.length > 0 && h("p", { class: "why-opposed" }, `They differ: ${opposed.join("; ")}.`),
    moment?.node,
    h(
      "details",
      { class: "why-details" },
      h("summary", {}, "Details"),
      h(
        "div",
        { class: "why-details-body" },
        h("p", {}, `${capital(why.closeness_word)}: ${nearerThan(why.similarity)}.`),
        why.parts && distance(why.parts),
        listeners(why, query, other),
        sounds(why.similarities, { title: "Sounds they have in common", query, other, kind: "together" }),
        sounds(why.differences, { title: "Sounds that differ", query, other, kind: "apart" }),
      ),
    ),
  );
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** What the distance is made of: the parts add up to all of it. */
function distance(parts) {
  const line = ({ words, share, similarity }) =>
    h(
      "div",
      { class: "sound-line" },
      h("dt", {}, words),
      h(
        "dd",
        { title: nearerThan(similarity) },
        h("div", { class: "bar", vars: { "--part": `${100 * share}%` }, "aria-hidden": true }, h("span")),
        h("span", { class: "number" }, percent(share)),
      ),
    );
  const total = parts.aspects.reduce((sum, { squared }) => sum + squared, 0);
  const aspects = parts.aspects.slice(0, 2).map(({ words, squared }) => `${words} (${percent(squared / total)})`);
  return h(
    "div",
    { class: "why-part" },
    h("h3", {}, "What sets them apart"),
    h("dl", {}, parts.kinds.map(line)),
    total > 0 &&
      parts.aspects.length > 1 &&
      h("p", { class: "muted" }, `In sound they differ most in ${aspects.join(" and ")}.`),
    parts.played.length > 0 &&
      h("p", { class: "muted" }, `Likely listeners of both also play ${parts.played.join(", ")}.`),
  );
}

function listeners(why, query, other) {
  if (why.same_artist) return h("p", { class: "why-line" }, icon("people"), "Both songs are by the same artist.");
  const overlap = why.listeners;
  if (!overlap) {
    return h(
      "p",
      { class: "why-line muted" },
      icon("people"),
      "No listening data: nobody in the listening histories plays one of the two artists.",
    );
  }
  const first = brief(artistOf(query));
  const second = brief(artistOf(other));
  const onlyQuery = overlap.query - overlap.shared;
  const onlyOther = overlap.other - overlap.shared;
  const all = Math.max(1, overlap.query + overlap.other - overlap.shared);
  const part = (n, name) => n > 0 && h("span", { class: `venn-${name}`, vars: { "--part": `${(100 * n) / all}%` } });
  const rank = overlap.rank ? ` ${ordinal(overlap.rank)} most similar artist by listeners.` : "";
  return h(
    "div",
    { class: "why-part" },
    h("h3", {}, icon("people"), "Shared listeners"),
    h(
      "p",
      {},
      `Of ${count(overlap.query, "person who plays", "people who play")} ${first}, and ${number(overlap.other)} who ` +
        `${overlap.other === 1 ? "plays" : "play"} ${second}, ${overlap.shared ? number(overlap.shared) : "none"} ` +
        `${overlap.shared === 1 ? "plays" : "play"} both.${rank}`,
    ),
    h(
      "div",
      { class: "venn", "aria-hidden": true },
      part(onlyQuery, "query"),
      part(overlap.shared, "both"),
      part(onlyOther, "other"),
    ),
    h(
      "p",
      { class: "venn-legend small-text muted" },
      h("span", { class: "key key-query" }, `only ${first}: ${number(onlyQuery)}`),
      h("span", { class: "key key-both" }, `both: ${number(overlap.shared)}`),
      h("span", { class: "key key-other" }, `only ${second}: ${number(onlyOther)}`),
    ),
  );
}

const ordinal = (n) => {
  if (n === 1) return "It is the";
  const tail = n % 100 >= 11 && n % 100 <= 13 ? "th" : { 1: "st", 2: "nd", 3: "rd" }[n % 10] || "th";
  return `It is the ${n}${tail}`;
};

/** The API's sentence, with the names of the songs for "this song" and "the other song". */
function reason(sound, query, other) {
  const named = sound.reason
    .replace(/^this song\b/, brief(titleOf(query)))
    .replace(/^the other song\b/, brief(titleOf(other)));
  return `${capital(named)}.`;
}

function sounds(all, { title, query, other, kind }) {
  if (!all.length) return null;
  const most = Math.max(0.01, ...all.flatMap((sound) => [sound.in_query, sound.in_song, sound.in_library]));
  const list = h(
    "ul",
    { class: "sounds", role: "list" },
    all.slice(0, MAX_SOUNDS).map((sound) => soundItem(sound, query, other, most)),
  );
  const more =
    all.length > MAX_SOUNDS &&
    h(
      "button",
      {
        class: "button plain small",
        type: "button",
        on: {
          click: () => {
            const first = all.slice(MAX_SOUNDS).map((sound) => soundItem(sound, query, other, most));
            list.append(...first);
            more.remove();
            first[0].setAttribute("tabindex", "-1");
            first[0].focus();
          },
        },
      },
      `Show ${all.length - MAX_SOUNDS} more`,
    );
  return h("div", { class: `why-part why-${kind}` }, h("h3", {}, title), list, more);
}

function soundItem(sound, query, other, most) {
  const part = (value) => `${value > 0 ? Math.max(2, (100 * value) / most) : 0}%`;
  const line = (name, value, className) =>
    h(
      "div",
      { class: "sound-line" },
      h("dt", { class: "ellipsis" }, name),
      h(
        "dd",
        {},
        h("div", { class: `bar ${className}`, vars: { "--part": part(value) }, "aria-hidden": true }, h("span")),
        h("span", { class: "number" }, fine(value)),
      ),
    );
  const play = (song) =>
    h(
      "li",
      {},
      h(
        "button",
        {
          class: "chip",
          type: "button",
          title: `${titleOf(song)} by ${artistOf(song)}`,
          "aria-label": `Play ${titleOf(song)} by ${artistOf(song)}`,
          // the queue continues after it
          on: { click: () => (isCurrent(song) ? player.toggle() : player.playNow(song)) },
        },
        icon("play"),
        h("span", { class: "ellipsis" }, titleOf(song)),
      ),
    );
  return h(
    "li",
    { class: "sound" },
    h("h4", { class: "sound-words" }, capital(sound.words)),
    h("p", { class: "muted" }, reason(sound, query, other)),
    sound.in_library !== null &&
      h(
        "dl",
        {},
        line(titleOf(query), sound.in_query, "of-query"),
        line(titleOf(other), sound.in_song, "of-other"),
        line("the whole library", sound.in_library, "of-all"),
      ),
    sound.examples.length > 0 &&
      h(
        "div",
        { class: "sound-examples" },
        h("span", { class: "muted" }, "Listen to it in:"),
        h("ul", { role: "list" }, sound.examples.slice(0, EXAMPLES).map(play)),
      ),
  );
}

const fine = (share) =>
  share > 0 && share < 0.095 ? (share < 0.001 ? "under 0.1%" : `${(100 * share).toFixed(1)}%`) : percent(share);
