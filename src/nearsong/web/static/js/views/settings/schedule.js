// Schedule: what the service does by itself, when, what it did, and what is next. Changes count when they are saved.

import { get, put } from "../../core/api.js";
import { h, replace } from "../../core/dom.js";
import { day } from "../../core/format.js";
import { say, sayError } from "../../core/toasts.js";
import { toggle } from "./switch.js";

const TASKS = { scan: "Scan", pull: "Pull", train: "Training" };
const STATES = { failed: "Failed: ", stopped: "", done: "" };
const SHOWN_RUNS = 8;
const POLL_MILLISECONDS = 20000;

const HOURS = { unit: "hours; 0 for never", min: 0, max: 8784, step: "any" };
const COUNT = { min: 1, max: 1e9, step: 1 };
const NUMBERS = [
  { name: "scan_hours", label: "Scan all folders every", ...HOURS },
  { name: "train_hours", label: "Train at most every", ...HOURS },
  { name: "new_listens", label: "Train after", unit: "new plays", ...COUNT },
  { name: "new_songs", label: "or after", unit: "new songs", ...COUNT },
];
const PULL = { name: "pull_hours", label: "Pull listens every", ...HOURS };
const TIMES = [
  { name: "quiet_from", label: "Quiet hours from" },
  { name: "quiet_to", label: "to" },
];

export async function scheduleSection(app) {
  const { signal } = app;
  const words = h("p", { id: "automation-words", role: "status" });
  const past = h("div");
  let timer = 0;
  const tell = (state) => {
    words.textContent = state.words;
    const open = past.querySelector("details")?.open ?? false;
    replace(past, runs(state.runs, open));
  };
  const first = await get("/automation", {}, { signal });
  tell(first);
  const again = () => {
    get("/automation", {}, { signal })
      .then(tell, () => {}) // the banner tells
      .finally(() => !signal.aborted && (timer = setTimeout(again, POLL_MILLISECONDS)));
  };
  timer = setTimeout(again, POLL_MILLISECONDS);
  signal.addEventListener("abort", () => clearTimeout(timer));
  const form = scheduleForm(first, tell);
  const hidden = () => (form.hidden = !isOn || !first.is_running);
  let isOn = first.is_on;
  hidden();
  return [
    words,
    first.is_running &&
      toggle(
        "Scan new music and learn from new plays by itself",
        first.is_on,
        async (is_on) => {
          tell(await put("/automation", { is_on }));
          isOn = is_on;
          hidden();
        },
        { id: "automation-switch" },
      ),
    form,
    pulls(first.pulls),
    past,
  ];
}

function scheduleForm(first, tell) {
  let stored = first;
  const shown = [...NUMBERS, ...(first.pulls.length ? [PULL] : []), ...TIMES];
  const fields = shown.map((field) => ({ ...field, input: inputOf(field, stored) }));
  const state = h("span", { class: "muted small-text", role: "status" });
  const save = h("button", { class: "button", type: "submit", disabled: true }, "Save");
  const undo = h("button", { class: "button quiet", type: "reset", disabled: true }, "Discard");
  const valueOf = ({ input }) => (input.type === "number" ? input.valueAsNumber : input.value);
  const changes = () => fields.filter((field) => valueOf(field) !== stored[field.name]);
  const mark = () => {
    const n = changes().length;
    save.disabled = undo.disabled = n === 0;
    state.textContent = n ? "Not saved yet" : "";
  };
  const submit = async (event) => {
    event.preventDefault();
    save.disabled = true;
    try {
      stored = await put("/automation", Object.fromEntries(changes().map((field) => [field.name, valueOf(field)])));
      tell(stored);
      say("Schedule saved.", { kind: "good" });
    } catch (error) {
      sayError(error);
    }
    mark();
  };
  const reset = (event) => {
    event.preventDefault();
    for (const { input, name } of fields) input.value = stored[name];
    mark();
  };
  return h(
    "form",
    { class: "schedule", id: "schedule", on: { submit, reset, input: mark } },
    h("div", { class: "schedule-fields" }, fields.map(fieldOf)),
    h(
      "p",
      { class: "muted small-text" },
      "Trainings and regular scans wait for the quiet hours; from and to the same time means at any time. ",
      "A new model is used only if it is better.",
    ),
    h("div", { class: "cluster" }, save, undo, state),
  );
}

function inputOf({ name, min, max, step }, stored) {
  const kind = min === undefined ? { type: "time" } : { type: "number", min, max, step, inputmode: "numeric" };
  const described = { "aria-describedby": `${name}-help` };
  return h("input", { class: "input", id: name, required: true, ...described, ...kind, value: stored[name] });
}

function fieldOf({ name, label, unit, input }) {
  return h(
    "div",
    { class: "field" },
    h("label", { for: name }, label),
    input,
    h("span", { class: "muted small-text", id: `${name}-help` }, unit ?? "local time"),
  );
}

function pulls(list) {
  if (!list.length) return null;
  const names = list.map((one) => `${one.service} ${one.name || one.url}`).join(", ");
  return h("p", { class: "muted small-text" }, `Pulls listens from ${names}; set with nearsong automation add-pull.`);
}

function runs(list, open) {
  if (!list.length) return null;
  const row = (run) =>
    h(
      "li",
      {},
      h("strong", {}, `${TASKS[run.task]}, ${moment(run.time)}. `),
      h("span", { class: "muted" }, `${STATES[run.state]}${run.words}`),
    );
  return h(
    "details",
    { id: "automation-runs", open },
    h("summary", {}, "What it did"),
    h("ul", { class: "quality-report" }, list.slice(0, SHOWN_RUNS).map(row)),
  );
}

function moment(seconds) {
  const time = new Date(1000 * seconds).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return `${day(seconds)}, ${time}`;
}
