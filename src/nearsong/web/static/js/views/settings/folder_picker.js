// chooseFolder(roots) -> Promise of the path of a folder on the computer that runs nearsong, or null
//   roots: the folders that the service allows; only folders inside them can be chosen

import { get } from "../../core/api.js";
import { announce, button, h, icon, iconButton, replace } from "../../core/dom.js";
import { count } from "../../core/format.js";
import { dialog } from "./confirm.js";

export function chooseFolder(roots) {
  return new Promise((answer) => {
    let chosen = null;
    const here = h("p", { class: "folder-here" });
    const facts = h("p", { class: "muted small-text", role: "status" });
    const list = h("ul", { class: "folder-list", role: "list", "aria-label": "Folders" });
    const up = iconButton("up", "Up one folder", () => open(up.dataset.path || null));
    const use = button("Add this folder", () => {
      chosen = use.dataset.path;
      box.close();
    });
    const cancel = button("Cancel", () => box.close(), { class: "button quiet" });
    const box = dialog(
      "Choose a folder",
      h("div", { class: "folder-bar" }, up, here),
      list,
      facts,
      h("div", { class: "cluster dialog-actions" }, cancel, use),
    );
    box.classList.add("folder-dialog");

    const entry = ({ name, path, is_scanned: isScanned }) =>
      h(
        "li",
        {},
        h(
          "button",
          { class: "folder-entry", type: "button", on: { click: () => open(path) } },
          icon("folder"),
          h("span", {}, name),
          isScanned && h("span", { class: "mark good" }, "scanned"),
        ),
      );

    function top() {
      here.textContent = "Where music may be";
      facts.textContent = "Choose where to look.";
      up.disabled = use.disabled = true;
      replace(
        list,
        roots.map((path) => entry({ name: path, path })),
      );
      list.querySelector("button")?.focus();
    }

    async function open(path) {
      if (!path) return top();
      list.setAttribute("aria-busy", "true");
      try {
        const found = await get("/folders/browse", { path });
        here.textContent = found.path;
        use.dataset.path = found.path;
        use.disabled = found.is_scanned;
        up.disabled = !found.parent && roots.length < 2;
        up.dataset.path = found.parent ?? "";
        const files = found.n_audio_files ? `${count(found.n_audio_files, "audio file")} in this folder.` : "";
        const inside = found.folders.length ? "" : "No folders inside.";
        facts.textContent = [
          files,
          inside,
          found.is_cut && "Not all folders are shown.",
          found.is_scanned && "It is scanned already.",
        ]
          .filter(Boolean)
          .join(" ");
        announce(`${found.path}: ${count(found.folders.length, "folder")}`);
        replace(list, found.folders.map(entry));
        (list.querySelector("button") ?? use).focus();
      } catch (error) {
        facts.textContent = error.detail || "This folder cannot be shown.";
      }
      list.removeAttribute("aria-busy");
    }

    box.addEventListener("close", () => answer(chosen));
    if (roots.length === 1) open(roots[0]);
    else top();
  });
}
