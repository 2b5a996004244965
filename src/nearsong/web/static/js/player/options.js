// What is chosen about playing: sleep timer, crossfade, loudness.
//
//   toggleOptions(opener): shows or closes it at a button
//   surpriseDial() -> node: the dial of a radio from familiar to surprising

import { h, iconButton } from "../core/dom.js";
import { onEscape } from "../core/escape.js";
import { preferences } from "../core/preferences.js";
import { radio } from "./radio.js";
import { sleep } from "./sleep.js";

const SLEEP_MINUTES = [5, 15, 30, 45, 60, 90];
const MAX_CROSSFADE_SECONDS = 12;
const GAINS = [
  ["off", "Off"],
  ["track", "By song"],
  ["album", "By album"],
];
const DIAL_WORDS = ["Familiar", "Rather familiar", "In between", "Rather surprising", "Surprising"];
const WAIT_MILLISECONDS = 300; // while a dial moves

let shut = null;

export function toggleOptions(opener) {
  if (shut) return shut(true);
  const close = (back) => {
    shut = null;
    release();
    sleep.removeEventListener("change", timer.draw);
    box.remove();
    opener.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside, true);
    window.removeEventListener("hashchange", gone);
    if (back) opener.focus({ preventScroll: true });
  };
  const gone = () => close(false);
  const outside = ({ target }) => box.contains(target) || opener.contains(target) || gone();
  const timer = sleepField();
  const box = h(
    "div",
    { class: "options", id: "player-options", role: "dialog", "aria-label": "Playback options", tabindex: "-1" },
    h(
      "div",
      { class: "options-head" },
      h("h2", {}, "Playback"),
      iconButton("close", "Close options", () => close(true)),
    ),
    timer.node,
    crossfadeField(),
    gainField(),
  );
  const release = onEscape(() => close(true));
  shut = close;
  sleep.addEventListener("change", timer.draw);
  document.body.append(box);
  opener.setAttribute("aria-expanded", "true");
  box.focus({ preventScroll: true });
  document.addEventListener("pointerdown", outside, true);
  window.addEventListener("hashchange", gone);
}

function sleepField() {
  const select = h(
    "select",
    {
      class: "select",
      id: "sleep",
      on: {
        change: () => {
          const { value } = select;
          sleep.set(value === "" ? null : value === "song" ? "song" : Number(value));
        },
      },
    },
    h("option", { value: "" }, "Off"),
    h("option", { value: "song" }, "At the end of this song"),
    SLEEP_MINUTES.map((minutes) => h("option", { value: minutes }, `In ${minutes} minutes`)),
  );
  const left = h("span", { class: "muted small-text", id: "sleep-left", role: "status" });
  const draw = () => {
    const { minutes } = sleep;
    left.textContent = typeof minutes === "number" ? `${minutes} min left` : "";
    if (minutes === null || minutes === "song") select.value = minutes ?? "";
  };
  draw();
  if (typeof sleep.minutes === "number")
    select.value = SLEEP_MINUTES.find((minutes) => minutes >= sleep.minutes) ?? SLEEP_MINUTES.at(-1);
  const head = h("div", { class: "options-line" }, h("label", { for: "sleep" }, "Sleep timer"), left);
  return { node: h("div", { class: "field" }, head, select), draw };
}

function crossfadeField() {
  const value = h("output", { class: "muted small-text number", for: "crossfade" });
  const input = h("input", {
    class: "slider",
    id: "crossfade",
    type: "range",
    min: 0,
    max: MAX_CROSSFADE_SECONDS,
    step: 1,
    on: { input: () => draw(Number(input.value)) },
  });
  const draw = (seconds) => {
    preferences.set("crossfade", seconds);
    const words = seconds ? `${seconds} s` : "Off: gapless";
    value.textContent = words;
    input.setAttribute("aria-valuetext", words);
    input.style.setProperty("--part", `${(100 * seconds) / MAX_CROSSFADE_SECONDS}%`);
  };
  input.value = preferences.get("crossfade");
  draw(Number(input.value));
  const head = h("div", { class: "options-line" }, h("label", { for: "crossfade" }, "Crossfade"), value);
  return h("div", { class: "field" }, head, input);
}

function gainField() {
  const choices = GAINS.map(([mode, words]) =>
    h(
      "button",
      {
        type: "button",
        id: `gain-${mode}`,
        "aria-pressed": preferences.get("gain") === mode,
        on: {
          click: (event) => {
            preferences.set("gain", mode);
            for (const one of choices) one.setAttribute("aria-pressed", String(one === event.currentTarget));
          },
        },
      },
      words,
    ),
  );
  return h(
    "div",
    { class: "field" },
    h("span", { class: "label", id: "gain-label" }, "Equal loudness (ReplayGain)"),
    h("div", { class: "segmented", role: "group", "aria-labelledby": "gain-label" }, choices),
  );
}

let dials = 0;

export function surpriseDial() {
  let timer = 0;
  const id = `surprise-${(dials += 1)}`;
  const value = h("output", { class: "muted small-text", for: id });
  const input = h("input", {
    class: "slider surprise",
    id,
    type: "range",
    min: 0,
    max: 1,
    step: 0.05,
    on: {
      input: () => {
        draw();
        clearTimeout(timer);
        timer = setTimeout(() => {
          radio.surprise = Number(input.value);
        }, WAIT_MILLISECONDS);
      },
    },
  });
  const draw = () => {
    const words = DIAL_WORDS[Math.round((DIAL_WORDS.length - 1) * Number(input.value))];
    value.textContent = words;
    input.setAttribute("aria-valuetext", words);
    input.style.setProperty("--part", `${100 * Number(input.value)}%`);
  };
  const sync = () => {
    input.value = radio.surprise;
    draw();
  };
  preferences.addEventListener("change", sync);
  sync();
  const head = h("div", { class: "options-line" }, h("label", { for: id }, "Familiar to surprising"), value);
  return h("div", { class: "field surprise-dial" }, head, input);
}
