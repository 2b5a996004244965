// The filters that the API offers, requested once.
//
//   switches() -> promise of the filters that are on or off for similar songs
//   formFilters() -> promise of the filters of a playlist
//     a filter: {name, parameter, kind, label, summary, group, value, min, max, choices}, as GET /filters returns it

import { get } from "../core/api.js";

let requested = null;

async function filters() {
  requested ??= get("/filters");
  try {
    return await requested;
  } catch (error) {
    requested = null;
    throw error;
  }
}

export const switches = async () => (await filters()).filter(({ value }) => value === true);
export const formFilters = async () => (await filters()).filter(({ value }) => value !== true);
