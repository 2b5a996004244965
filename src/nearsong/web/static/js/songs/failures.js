// Songs that cannot be played: each is loaded once again, then a message says so; after five in a row playback stops.
//
//   failures.begin(): a song is loaded     failures.end(): one plays, or the listener chose one
//   failures.isFirst(song) -> whether it is to be loaded once again: the network may have been away for a moment
//   failures.tell(song, {more}) -> whether to go on with the next song, if there are more

import { apart, titleOf } from "../core/format.js";
import { say } from "../core/toasts.js";

const MAX_FAILURES = 5;

export class Failures {
  #inARow = 0;
  #again = null; // the song that is loaded once again
  #hush = () => {}; // closes the last message

  begin() {
    this.#again = null;
  }

  end() {
    this.#inARow = 0;
  }

  isFirst(song) {
    const is = !song.src && this.#again !== song;
    this.#again = song;
    return is;
  }

  tell(song, { more }) {
    this.#inARow += 1;
    const goesOn = more && this.#inARow < MAX_FAILURES;
    const reason = song.src ? "the browser does not support its format." : "the file is missing or cannot be read.";
    const enough = `${MAX_FAILURES} songs in a row cannot be played. Check that the music files are available.`;
    const one = `“${apart(titleOf(song))}” cannot be played: ${reason}${goesOn ? " Skipping to the next song." : ""}`;
    this.#hush(); // one message at a time
    this.#hush = say(this.#inARow >= MAX_FAILURES ? enough : one, { kind: "bad" });
    return goesOn;
  }
}
