// Find by sound: drop a file that nobody has heard before, and get what is near it. Nothing is kept unless asked.

import { isAbort, upload } from "../api.js";
import { draft } from "../draft.js";
import { announce, h, icon, replace } from "../dom.js";
import { dropped, takeDropped } from "../drop.js";
import { apart, megabytes, percent, time } from "../format.js";
import { isCurrent, player } from "../player.js";
import { say } from "../toast.js";
import { emptyLibrary, learnNote } from "./empty.js";
import { neighbours } from "./neighbours.js";

const AUDIO = "audio/*,.mp3,.flac,.ogg,.oga,.opus,.m4a,.mp4,.aac,.wav,.aif,.aiff,.wma,.ape,.wv,.mka";
const NEAREST = 10;
const LEAD = "Give it a song that is not in the library. nearsong listens to it and shows what is near.";
const touches = matchMedia("(pointer: coarse)"); // nothing to drop with

/** What the service says of a file, without where it lay there and what its decoders are called. */
function tidy(detail, name) {
  const words = (detail || "That did not work.").replace(/ \((?:FFmpeg|libsndfile)[^)]*\)/, "").replace(/(?:[a-z]:)?(?:[/\\][^\s/\\]+)+[/\\]/gi, "");
  return words.startsWith(`${name}: `) ? `“${apart(name)}” ${words.slice(name.length + 2).replace(/^it /, "")}` : words;
}

let last = null; // {file, address, answer}: while the page is open one can go elsewhere and come back

export async function show(root, _params, app) {
  app.title("Find by sound");
  const status = app.status || (await app.refreshStatus());
  if (!status.songs) return emptyLibrary(root, app);
  const view = new ListenView(root, app);
  view.draw();
  const file = takeDropped();
  if (file) view.take(file);
  else if (last) view.showAnswer();
  const onDrop = () => view.take(takeDropped());
  const onPlayer = () => view.update();
  dropped.addEventListener("file", onDrop);
  player.addEventListener("change", onPlayer);
  return () => {
    dropped.removeEventListener("file", onDrop);
    player.removeEventListener("change", onPlayer);
    view.cancel?.abort();
  };
}

class ListenView {
  constructor(root, app) {
    Object.assign(this, { root, app, cancel: null });
  }

  draw() {
    this.input = h("input", { class: "visually-hidden", id: "listen-file", type: "file", accept: AUDIO, on: { change: () => {
      const [file] = this.input.files;
      this.input.value = ""; // the same file may be chosen again
      if (file) this.take(file);
    } } });
    const most = this.app.status.upload_megabytes;
    this.zone = h("label", { class: "drop-zone", for: "listen-file", id: "drop-zone" },
      h("span", { class: "drop-icon" }, icon("wave")),
      h("span", { class: "drop-words" }, h("strong", {}, touches.matches ? "Choose a song" : "Drop a song here"),
        h("span", { class: "muted" }, `${touches.matches ? "" : "or press to choose a file. "}Any audio format, up to ${most} MB.`)));
    this.place = h("div", { class: "listen-place", id: "listen-place" });
    replace(this.root,
      this.app.heading("Find by sound", { lead: `${LEAD} The file is not kept${this.app.status.may_keep ? " unless you ask" : ""}.` }),
      h("div", { class: "drop-wrap" }, this.input, this.zone), this.place);
  }

  take(file) {
    if (!file) return;
    const wrong = this.whatIsWrong(file);
    if (wrong) this.fail(`“${apart(file.name)}” ${wrong}`);
    else this.send(file);
  }

  /** What can be told before anything is sent. */
  whatIsWrong(file) {
    const most = this.app.status.upload_megabytes;
    if (file.size > most * 2 ** 20) return `has ${megabytes(file.size)}, and up to ${most} MB can be heard. A compressed copy (MP3, for example) will do.`;
    if (file.size === 0) return "is empty, or a folder. Choose one audio file.";
    if (/^(image|text)\/|\/pdf$/.test(file.type)) return "is no audio file. Choose a song: MP3, FLAC, OGG, M4A, WAV ...";
    return "";
  }

  async send(file, params = {}) {
    this.cancel?.abort();
    this.cancel = new AbortController();
    const { signal } = this.cancel;
    const steps = this.drawProgress(file);
    try {
      const answer = await upload("/query", file, {
        signal, params: { n: NEAREST, ...params }, onProgress: (part) => steps.sending(part), onSent: () => steps.hearing(),
      });
      if (signal.aborted) return;
      if (last?.address && last.file !== file) URL.revokeObjectURL(last.address);
      last = { file, answer, address: last?.file === file ? last.address : URL.createObjectURL(file) };
      this.showAnswer();
      announce(`Found ${answer.songs.length} songs near ${answer.name}`);
      this.place.querySelector("h2")?.focus({ preventScroll: true });
      if (answer.kept) this.app.refreshStatus().catch(() => {});
    } catch (error) {
      if (this.cancel.signal !== signal) return; // another file came
      if (isAbort(error)) this.drawAgain();
      else this.fail(tidy(error.detail, file.name), error.retryAfter);
    }
  }

  drawProgress(file) {
    this.zone.classList.add("is-small");
    const bar = (label) => h("div", { class: "bar", role: "progressbar", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 100 }, h("span"));
    const [sendBar, hearBar] = [bar("Sending"), bar("Listening")];
    const [sendWords, hearWords] = [h("span", { class: "number" }, "0%"), h("span", { class: "muted" }, "waits")];
    const step = (name, words, its) => h("li", { class: "listen-step" }, h("div", { class: "progress-words" }, h("span", {}, name), words), its);
    const [first, second] = [step("1. Sending", sendWords, sendBar), step("2. Listening to it", hearWords, hearBar)];
    replace(this.place, h("section", { class: "card listen-progress", "aria-label": "Progress" },
      h("h2", { class: "ellipsis" }, file.name),
      h("ol", { class: "stack", role: "list" }, first, second),
      h("button", { class: "button quiet small", id: "listen-cancel", type: "button", on: { click: () => this.cancel.abort() } }, "Cancel")));
    return {
      sending(part) {
        sendWords.textContent = percent(part);
        sendBar.style.setProperty("--part", percent(part));
        sendBar.setAttribute("aria-valuenow", String(Math.round(100 * part)));
      },
      hearing() {
        this.sending(1);
        hearBar.classList.add("unknown");
        hearWords.textContent = "a few seconds";
        announce("Sent. Listening to it.");
      },
    };
  }

  showAnswer() {
    this.zone.classList.add("is-small");
    const { answer, address, file } = last;
    const heard = { title: answer.title || answer.name, artist: answer.artist || "Your file", seconds: answer.seconds, album: "", src: address, id: null };
    const learned = answer.model.kind !== "native";
    const whys = new Map(answer.songs.map((near, i) => [near.song.id, answer.why[i]])); // the file is gone: there are no others
    const whyOf = (near) => whys.has(near.song.id) && (async () => whys.get(near.song.id));
    const play = () => {
      if (isCurrent(heard)) player.toggle();
      else player.play([heard, ...answer.songs.map((near) => near.song)]);
    };
    const keep = !answer.kept && this.app.status.may_keep && h("button", {
      class: "button quiet", id: "keep", type: "button", on: { click: () => this.send(file, { keep: "true" }) },
    }, icon("save"), "Keep it in the library");
    this.another();
    replace(this.place,
      h("section", { class: "card heard", "aria-labelledby": "heard-title" },
        h("button", { class: "heard-play", type: "button", on: { click: play } }),
        h("div", { class: "heard-names" }, h("h2", { id: "heard-title", class: "ellipsis", tabindex: "-1" }, heard.title),
          h("p", { class: "muted ellipsis" }, [answer.artist, time(answer.seconds), answer.name !== heard.title && answer.name].filter(Boolean).join(" · "))),
        h("div", { class: "heard-buttons cluster" },
          h("button", { class: "button", id: "make-playlist", type: "button", on: { click: () => this.playlist(answer, heard) } },
            icon("playlist"), "Make a playlist from this"),
          keep),
        h("p", { class: "heard-kept muted small-text", id: "kept" }, icon("check"),
          answer.kept ? "Kept. It will be in the library in a minute." : "Nothing was kept: the file was heard and removed.")),
      answer.damage && h("div", { class: "note warn heard-damage" }, icon("warning"), h("p", {}, answer.damage[0].toUpperCase() + answer.damage.slice(1))),
      neighbours({
        learned: learned ? answer.songs : null, native: learned ? answer.native : answer.songs, query: heard, whyOf, lesson: () => learnNote(this.app),
      }));
    this.update();
  }

  /** The button of the file that was heard says what it does now. */
  update() {
    const button = this.place.querySelector(".heard-play");
    if (!button || !last) return;
    const on = player.playing && player.current?.src === last.address;
    const label = `${on ? "Pause" : "Play"} ${last.answer.title || last.answer.name}`;
    if (button.getAttribute("aria-label") === label && button.firstChild) return;
    button.setAttribute("aria-label", label);
    replace(button, icon(on ? "pause" : "play"));
  }

  another() {
    this.zone.querySelector("strong").textContent = "Listen to another file";
    this.zone.querySelector(".drop-words .muted").textContent = touches.matches ? "Press to choose it." : "Drop it anywhere on the page, or press to choose.";
  }

  playlist(answer, heard) {
    draft.addHeard({ name: heard.title, heard: answer.heard });
    this.app.go("#/playlists");
  }

  drawAgain() {
    replace(this.place);
    if (last) this.showAnswer();
    else this.zone.classList.remove("is-small");
    say("Cancelled. Nothing was kept.");
  }

  fail(words, wait) {
    this.cancel?.abort();
    this.zone.classList.remove("is-small");
    replace(this.place, h("div", { class: "note bad", role: "alert", id: "listen-error" }, icon("warning"),
      h("p", {}, words, wait ? ` Try again in ${wait} s.` : "")));
  }
}
