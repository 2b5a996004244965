// The card of the selected song, and the tip of the song under the mouse.
//
//   songCard(stage, {close, parts(row) -> {cover, actions}}) -> {node, show(row), close()}
//   songTip(stage) -> node

import { h, iconButton, replace } from "../core/dom.js";
import { time } from "../core/format.js";

export function songCard(stage, { close, parts }) {
  const node = h("section", { class: "map-card", id: "map-card", "aria-label": "Selected song", hidden: true });

  function show(row) {
    node.hidden = row < 0;
    if (row < 0) return replace(node);
    const song = stage.columns.song(row);
    const facts = [song.genre, song.year, time(song.seconds)].filter(Boolean).join(" · ");
    const { cover = null, actions } = parts(row);
    replace(
      node,
      cover,
      h(
        "div",
        { class: "map-card-names" },
        h("h2", { class: "ellipsis", dir: "auto" }, song.title || "(no title)"),
        h("p", { class: "ellipsis", dir: "auto" }, song.artist || "(no artist)"),
        h("p", { class: "muted small-text ellipsis" }, facts),
      ),
      iconButton("close", "Close", close, { class: "icon-button map-card-close" }),
      h("div", { class: "map-card-actions" }, actions),
    );
  }

  return { node, show, close };
}

export function songTip(stage) {
  const node = h("div", { class: "map-tip", "aria-hidden": true, hidden: true });
  stage.addEventListener("hover", ({ detail: { row, px, py } }) => {
    node.hidden = row < 0 || (!px && !py);
    if (node.hidden) return;
    const { columns, camera } = stage;
    const facts = [columns.genres[columns.genre[row]], columns.years[row] || ""].filter(Boolean).join(" · ");
    replace(
      node,
      h("strong", { dir: "auto" }, columns.title(row)),
      h("span", { dir: "auto" }, columns.artistName(row)),
      facts && h("span", { class: "muted" }, facts),
    );
    const x = px + 16 + node.offsetWidth > camera.width ? px - 14 - node.offsetWidth : px + 16;
    const y = py + 16 + node.offsetHeight > camera.height ? py - 12 - node.offsetHeight : py + 16;
    node.style.setProperty("transform", `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`);
  });
  return node;
}
