// What the service does by itself: a sentence, a switch, and what came of the last runs. For admins.
//
//   automationBox(signal) -> node, filled when the API responds; it follows what runs

import { get, put } from "../../core/api.js";
import { h, replace } from "../../core/dom.js";
import { day } from "../../core/format.js";
import { sayError } from "../../core/toasts.js";

const TASKS = { scan: "Scan", pull: "Pull", train: "Training" };
const STATES = { failed: "Failed: ", stopped: "", done: "" };
const SHOWN_RUNS = 8;
const POLL_MILLISECONDS = 20000;

export function automationBox(signal) {
  const title = h("h2", { id: "automation-title" }, "Learns by itself");
  const box = h(
    "section",
    { class: "card stack", id: "automation", "aria-labelledby": "automation-title", "aria-busy": true },
    title,
    h("div", { class: "skeleton quality-wait" }),
  );
  let open = false;
  let timer = 0;

  const fill = (state) => {
    if (signal.aborted) return;
    open = box.querySelector("details")?.open ?? open;
    box.removeAttribute("aria-busy");
    replace(
      box,
      title,
      h("p", { id: "automation-words", role: "status" }, state.words),
      state.is_running && onSwitch(state),
      state.is_on && state.is_running && h("p", { class: "muted small-text" }, rules(state)),
      runs(state.runs, open),
    );
  };

  const onSwitch = (state) => {
    const input = h("input", { type: "checkbox", role: "switch", id: "automation-switch", checked: state.is_on });
    input.addEventListener("change", async () => {
      input.disabled = true;
      try {
        fill(await put("/automation", { is_on: input.checked }));
        box.querySelector("#automation-switch")?.focus();
      } catch (error) {
        input.disabled = false;
        input.checked = !input.checked;
        sayError(error);
      }
    });
    return h("label", { class: "check", for: "automation-switch" }, input, " Scan new music and learn from new plays");
  };

  const ask = () =>
    get("/automation", {}, { signal }).then(fill, () => {
      if (!signal.aborted) replace(box, title, h("p", { class: "muted" }, "Not available right now."));
    });
  const again = () => {
    if (signal.aborted || !box.isConnected) return;
    ask().finally(() => (timer = setTimeout(again, POLL_MILLISECONDS)));
  };
  signal.addEventListener("abort", () => clearTimeout(timer));
  ask().finally(() => (timer = setTimeout(again, POLL_MILLISECONDS)));
  return box;
}

function rules(state) {
  const when =
    state.quiet_from === state.quiet_to ? "at any time" : `between ${state.quiet_from} and ${state.quiet_to}`;
  const train =
    state.train_hours > 0 &&
    `Trains after ${state.new_listens} new plays or ${state.new_songs} new songs, ${when}. ` +
      "A new model is used only if it is better.";
  const watch = state.watch && "New files in your folders are scanned within minutes.";
  return [train, watch].filter(Boolean).join(" ");
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
    { class: "quality-details", id: "automation-runs", open },
    h("summary", {}, "What it did"),
    h("ul", { class: "quality-report" }, list.slice(0, SHOWN_RUNS).map(row)),
  );
}

function moment(seconds) {
  const time = new Date(1000 * seconds).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return `${day(seconds)}, ${time}`;
}
