// What a listener chose in this browser, for all tabs and later visits.
//
//   preferences.get(name) -> the value, or its default      preferences.set(name, value)
//   events on preferences: "change" (detail {name})

const KEY = "nearsong.preferences";
const DEFAULTS = {
  volume: 1, // 0..1
  crossfade: 0, // seconds that the end of a song and the start of the next one overlap
  gain: "track", // ReplayGain: off, track or album
  surprise: 0, // of radios: 0 familiar to 1 surprising
};

function read() {
  try {
    return { ...DEFAULTS, ...JSON.parse(localStorage.getItem(KEY)) };
  } catch {
    return { ...DEFAULTS };
  }
}

class Preferences extends EventTarget {
  #values = read();

  get(name) {
    return this.#values[name];
  }

  set(name, value) {
    if (this.#values[name] === value) return;
    this.#values[name] = value;
    try {
      localStorage.setItem(KEY, JSON.stringify(this.#values));
    } catch {
      /* full or forbidden: it lasts until a reload */
    }
    this.dispatchEvent(new CustomEvent("change", { detail: { name } }));
  }
}

export const preferences = new Preferences();
