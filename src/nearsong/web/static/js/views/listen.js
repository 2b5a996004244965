// Find by sound: upload a file and list similar songs. The file is not stored unless the user saves it.

import { isAbort, upload } from "../core/api.js";
import { draft } from "./playlists/draft.js";
import { announce, button, h, icon, replace } from "../core/dom.js";
import { dropped, takeDropped } from "../widgets/drop.js";
import { apart, brief, megabytes, percent, time, titleOf } from "../core/format.js";
import { isCurrent, player } from "../player/player.js";
import { say } from "../core/toasts.js";
import { emptyLibrary, learnNote } from "./library/empty.js";
import { songHref } from "../songs/links.js";
import { undoAction } from "./playlists/rows.js";
import { wordsBox } from "./listen/words.js";
import { neighbours } from "./song/neighbours.js";

const AUDIO = "audio/*,.mp3,.flac,.ogg,.oga,.opus,.m4a,.mp4,.aac,.wav,.aif,.aiff,.wma,.ape,.wv,.mka";
const NEAREST = 10;
const SAME_SOUND = 0.9999; // closeness by sound alone: a file of the library has 0.999999
const LEAD = "Upload a song to find similar ones in the library.";
const touches = matchMedia("(pointer: coarse)"); // no drag and drop

/** The API's error about a file, without its temporary path. */
function tidy(detail, name) {
  const words = (detail || "Something went wrong.")
    .replace(/ \((?:FFmpeg|libsndfile)[^)]*\)/, "")
    .replace(/(?:[a-z]:)?(?:[/\\][^\s/\\]+)+[/\\]/gi, "");
  if (!words.startsWith(`${name}: `)) return words;
  return `“${apart(name)}” ${words.slice(name.length + 2).replace(/^it /, "")}`;
}

let last = null; // {file, address, answer}: restored when the view is opened again

export async function show(root, _params, app) {
  app.title("Find by sound");
  const status = await app.someStatus();
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

/** The song of the library that an uploaded file is, if it has the same sound. */
function sameSound([nearest]) {
  if (!nearest || nearest.closeness < SAME_SOUND) return null;
  const { song } = nearest;
  return h(
    "p",
    { class: "heard-kept muted small-text", id: "same-sound" },
    icon("library"),
    h("span", {}, "It sounds the same as ", h("a", { href: songHref(song.id) }, titleOf(song)), " in the library."),
  );
}

class ListenView {
  constructor(root, app) {
    Object.assign(this, { root, app, cancel: null });
  }

  draw() {
    this.input = h("input", {
      class: "visually-hidden",
      id: "listen-file",
      type: "file",
      accept: AUDIO,
      on: {
        change: () => {
          const [file] = this.input.files;
          this.input.value = ""; // so that the same file can be chosen again
          if (file) this.take(file);
        },
      },
    });
    const most = this.app.status.upload_megabytes;
    this.zone = h(
      "label",
      { class: "drop-zone", for: "listen-file", id: "drop-zone" },
      h("span", { class: "drop-icon" }, icon("wave")),
      h(
        "span",
        { class: "drop-words" },
        h("strong", {}, touches.matches ? "Choose a song" : "Drop a song here"),
        h(
          "span",
          { class: "muted" },
          `${touches.matches ? "" : "or click to choose a file. "}Any audio format, up to ${most} MB.`,
        ),
      ),
    );
    this.box = h("div", { class: "listen-box", id: "listen-box" });
    replace(
      this.root,
      this.app.heading("Find by sound", {
        lead: `${LEAD} The file is not stored${this.app.status.can_save_uploads ? " unless you save it" : ""}.`,
      }),
      h("div", { class: "drop-wrap" }, this.input, this.zone),
      this.box,
      wordsBox(this.app),
    );
  }

  take(file) {
    if (!file) return;
    const wrong = this.whatIsWrong(file);
    if (wrong) this.fail(`“${apart(file.name)}” ${wrong}`);
    else this.send(file);
  }

  /** Checks before the upload. */
  whatIsWrong(file) {
    const most = this.app.status.upload_megabytes;
    if (file.size > most * 2 ** 20)
      return `has ${megabytes(file.size)}; the limit is ${most} MB. Use a compressed copy, such as an MP3.`;
    if (file.size === 0) return "is empty or a folder. Choose an audio file.";
    if (/^(image|text)\/|\/pdf$/.test(file.type))
      return "is not an audio file. Choose a song: MP3, FLAC, OGG, M4A, WAV ...";
    return "";
  }

  async send(file, params = {}) {
    this.cancel?.abort();
    this.cancel = new AbortController();
    const { signal } = this.cancel;
    const steps = this.drawProgress(file);
    try {
      const answer = await upload("/query", file, {
        signal,
        params: { n: NEAREST, ...params },
        onProgress: (part) => steps.sending(part),
        onSent: () => steps.hearing(),
      });
      if (signal.aborted) return;
      if (last?.address && last.file !== file) URL.revokeObjectURL(last.address);
      last = { file, answer, address: last?.file === file ? last.address : URL.createObjectURL(file) };
      this.showAnswer();
      announce(`Found ${answer.songs.length} songs similar to ${answer.name}`);
      this.box.querySelector("h2")?.focus({ preventScroll: true });
      if (answer.saved) this.app.refreshStatus().catch(() => {});
    } catch (error) {
      if (this.cancel.signal !== signal) return; // replaced by another upload
      if (isAbort(error)) this.drawAgain();
      else this.fail(tidy(error.detail, file.name), error.retryAfter);
    }
  }

  drawProgress(file) {
    this.zone.classList.add("is-small");
    const bar = (label) =>
      h(
        "div",
        { class: "bar", role: "progressbar", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 100 },
        h("span"),
      );
    const sendBar = bar("Uploading");
    const hearBar = bar("Analysing");
    const sendWords = h("span", { class: "number" }, "0%");
    const hearWords = h("span", { class: "muted" }, "waits");
    const step = (name, words, its) =>
      h("li", { class: "listen-step" }, h("div", { class: "progress-words" }, h("span", {}, name), words), its);
    const first = step("1. Sending", sendWords, sendBar);
    const second = step("2. Analysing", hearWords, hearBar);
    replace(
      this.box,
      h(
        "section",
        { class: "card listen-progress", "aria-label": "Progress" },
        h("h2", { class: "ellipsis" }, file.name),
        h("ol", { class: "stack", role: "list" }, first, second),
        button("Cancel", () => this.cancel.abort(), { id: "listen-cancel", class: "button quiet small" }),
      ),
    );
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
        announce("Uploaded. Analysing.");
      },
    };
  }

  showAnswer() {
    this.zone.classList.add("is-small");
    const { answer, address, file } = last;
    const heard = {
      title: answer.title || answer.name,
      artist: answer.artist || "Your file",
      seconds: answer.seconds,
      album: "",
      src: address,
      id: null,
    };
    const learned = answer.model.kind !== "native";
    // explanations come with the answer: the file is deleted afterwards
    const whys = new Map(answer.songs.map((near, i) => [near.song.id, answer.why[i]]));
    const whyOf = (near) => whys.has(near.song.id) && (async () => whys.get(near.song.id));
    const play = () => {
      if (isCurrent(heard)) player.toggle();
      else player.play([heard, ...answer.songs.map((near) => near.song)]);
    };
    const keep =
      !answer.saved &&
      this.app.status.can_save_uploads &&
      button(
        "Save to the library",
        () => this.send(file, { save: "true" }),
        { id: "keep", class: "button quiet", icon: "save" },
      );
    this.another();
    replace(
      this.box,
      h(
        "section",
        { class: "card heard", "aria-labelledby": "heard-title" },
        h("button", { class: "heard-play", type: "button", on: { click: play } }),
        h(
          "div",
          { class: "heard-names" },
          h("h2", { id: "heard-title", class: "ellipsis", tabindex: "-1" }, heard.title),
          h(
            "p",
            { class: "muted ellipsis" },
            [answer.artist, time(answer.seconds), answer.name !== heard.title && answer.name]
              .filter(Boolean)
              .join(" · "),
          ),
        ),
        h(
          "div",
          { class: "heard-buttons cluster" },
          button("Create playlist", () => this.playlist(answer, heard), { id: "make-playlist", icon: "playlist" }),
          keep,
        ),
        h(
          "p",
          { class: "heard-kept muted small-text", id: "kept" },
          icon("check"),
          answer.saved ? "Saved. It appears in the library in a minute." : "The file was analysed and deleted.",
        ),
        sameSound(learned ? answer.native : answer.songs),
      ),
      answer.damage &&
        h(
          "div",
          { class: "note warn heard-damage" },
          icon("warning"),
          h("p", {}, answer.damage[0].toUpperCase() + answer.damage.slice(1)),
        ),
      neighbours({
        learned: learned ? answer.songs : null,
        native: learned ? answer.native : answer.songs,
        query: heard,
        whyOf,
        lesson: () => learnNote(this.app),
      }),
    );
    this.update();
  }

  /** Update the play button of the uploaded file. */
  update() {
    const button = this.box.querySelector(".heard-play");
    if (!button || !last) return;
    const on = player.playing && player.current?.src === last.address;
    const label = `${on ? "Pause" : "Play"} ${last.answer.title || last.answer.name}`;
    if (button.getAttribute("aria-label") === label && button.firstChild) return;
    button.setAttribute("aria-label", label);
    replace(button, icon(on ? "pause" : "play"));
  }

  another() {
    this.zone.querySelector("strong").textContent = "Try another file";
    this.zone.querySelector(".drop-words .muted").textContent = touches.matches
      ? "Tap to choose it."
      : "Drop it anywhere on the page, or click to choose.";
  }

  playlist(answer, heard) {
    const seed = { name: heard.title, upload: answer.seed };
    const isNew = !draft.growsFromSeeds;
    if (isNew) draft.startFrom(seed);
    else draft.addUpload(seed);
    if (isNew) say(`New playlist from “${brief(heard.title)}”.`, { action: undoAction() });
    this.app.go("#/playlists");
  }

  drawAgain() {
    replace(this.box);
    if (last) this.showAnswer();
    else this.zone.classList.remove("is-small");
    say("Cancelled. The file was deleted.");
  }

  fail(words, wait) {
    this.cancel?.abort();
    this.zone.classList.remove("is-small");
    replace(
      this.box,
      h(
        "div",
        { class: "note bad", role: "alert", id: "listen-error" },
        icon("warning"),
        h("p", {}, words, wait ? ` Try again in ${wait} s.` : ""),
      ),
    );
  }
}
