// Hear what two songs share: five seconds of each where they sound most alike, one after the other.
//
//   sharedMoment(query, other, {find}) -> {node, stop()}
//     find() -> Promise of MomentOut of the API
//
// The excerpts have an <audio> element of their own: the queue stays as it is, and the player is paused meanwhile.

import { isAbort, songUrl } from "../../core/api.js";
import { button, h, icon, replace } from "../../core/dom.js";
import { brief, time, titleOf } from "../../core/format.js";
import { player } from "../../player/player.js";

let stopLast = () => {}; // one excerpt at a time, on the whole page

export function sharedMoment(query, other, { find }) {
  const status = h("span", { class: "moment-status muted", role: "status" });
  const opener = button("", press, { class: "button quiet small moment-play" });
  const node = h("div", { class: "moment" }, opener, status);
  let moment = null;
  let audio = null;
  let turn = 0;

  function show(label, sign, text = "") {
    replace(opener, icon(sign), label);
    status.textContent = text;
  }

  const rest = (text = "") => show("Hear what they share", "play", text);

  function silence() {
    turn += 1;
    audio?.pause();
    audio?.removeAttribute("src");
    audio = null;
    player.removeEventListener("change", giveWay);
  }

  function stop() {
    if (!audio && !opener.dataset.busy) return;
    delete opener.dataset.busy;
    silence();
    rest();
  }

  const giveWay = () => player.playing && stop();

  async function press() {
    if (audio || opener.dataset.busy) return stop();
    stopLast();
    stopLast = stop;
    const mine = (turn += 1);
    opener.dataset.busy = "yes";
    show("Stop", "pause", "Looking for it …");
    try {
      moment ||= await find();
      if (mine !== turn) return;
      if (moment.reason) return finish(`It cannot be played: ${moment.reason}`);
      player.pause();
      player.addEventListener("change", giveWay);
      for (const [song, start] of [
        [query, moment.query_start],
        [other, moment.other_start],
      ]) {
        show("Stop", "pause", `${brief(titleOf(song))} at ${time(start)}`);
        await excerpt(songUrl.audio(song.id, { complete: "true" }), start);
        if (mine !== turn) return;
      }
      finish(`At ${time(moment.query_start)} and ${time(moment.other_start)}`);
    } catch (error) {
      if (mine === turn) finish(isAbort(error) ? "" : error.detail || "The browser cannot play one of the two songs.");
    }
  }

  function finish(text) {
    delete opener.dataset.busy;
    silence();
    rest(text);
  }

  function excerpt(src, start) {
    audio = new Audio();
    audio.volume = player.volume;
    const mine = audio;
    return new Promise((done, fail) => {
      mine.addEventListener("loadedmetadata", () => {
        mine.currentTime = start;
      });
      mine.addEventListener("timeupdate", () => {
        if (mine.currentTime < start + moment.seconds) return;
        mine.pause();
        done();
      });
      mine.addEventListener("ended", done);
      mine.addEventListener("error", () => fail(new Error("it cannot be played")));
      mine.src = src;
      mine.play().catch(fail);
    });
  }

  rest();
  return { node, stop };
}
