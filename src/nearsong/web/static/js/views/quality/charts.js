// Charts as SVG elements, redrawn when their width changes.
//
//   intervals(rows, {label, from, to, unit}) -> node: a dot and its confidence interval for each row
//     rows    {label, mean, low, high, kind}; kind ("learned", "native", "other") chooses the colour

import { h } from "../../core/dom.js";

const SVG = "http://www.w3.org/2000/svg";
const NAME_CHARACTERS = 28; // of a name on one line beside its dot
const LINE_PIXELS = 16;

function svg(tag, attributes = {}, text = null) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  if (text !== null) node.textContent = text;
  return node;
}

/** Round tick values between two numbers, about `wanted` of them. */
export function ticks(from, to, wanted = 5) {
  const step = [1, 2, 5, 10, 20, 25, 50].find((size) => (to - from) / size <= wanted + 0.5) ?? 100;
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to + 1e-9; at += step) found.push(at);
  return found;
}

export function intervals(rows, { label, from, to, unit = "" }) {
  const node = h("div", { class: "chart" });
  let drawn = 0;
  const draw = () => {
    const width = Math.floor(node.clientWidth);
    if (!width || width === drawn) return;
    drawn = width;
    node.replaceChildren(picture(rows, { label, from, to, unit, width }));
  };
  new ResizeObserver(draw).observe(node);
  return node;
}

function picture(rows, { label, from, to, unit, width }) {
  const beside = width >= 430;
  const left = beside ? 186 : 8;
  const right = width - 40;
  const each = beside ? 40 : 54;
  const head = 8;
  const foot = unit ? 44 : 26;
  const height = head + rows.length * each + foot;
  const x = (value) => left + ((value - from) / (to - from)) * (right - left);
  const root = svg("svg", {
    class: "intervals",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": label,
  });
  for (const tick of ticks(from, to, beside ? 6 : 2)) {
    const at = x(tick);
    const bottom = height - foot;
    root.append(
      svg("line", { class: tick === 50 ? "chart-chance" : "chart-grid", x1: at, x2: at, y1: head, y2: bottom }),
      svg("text", { class: "chart-tick", x: at, y: bottom + 17, "text-anchor": "middle" }, String(tick)),
    );
  }
  if (unit)
    root.append(
      svg("text", { class: "chart-unit", x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, unit),
    );
  rows.forEach((row, at) =>
    root.append(line(row, { x, beside, left, y: head + at * each + (beside ? each / 2 : each - 17), to })),
  );
  return root;
}

/** A name; beside its dot a long one has a second line from its comma on. */
function nameOf(label, at, beside) {
  const comma = label.indexOf(",") + 1;
  if (!beside || !comma || label.length <= NAME_CHARACTERS) return svg("text", { class: "chart-name", ...at }, label);
  const node = svg("text", { class: "chart-name", ...at, y: at.y - LINE_PIXELS / 2 });
  node.append(svg("tspan", {}, label.slice(0, comma)), svg("tspan", { x: at.x, dy: LINE_PIXELS }, label.slice(comma)));
  return node;
}

function line(row, { x, beside, left, y, to }) {
  const group = svg("g", { class: `chart-row chart-${row.kind}` });
  const at = x(row.mean);
  const name = beside
    ? { x: left - 14, y: y + 4.5, "text-anchor": "end" }
    : { x: left, y: y - 14, "text-anchor": "start" };
  group.append(
    nameOf(row.label, name, beside),
    svg("line", { class: "chart-interval", x1: x(row.low), x2: x(row.high), y1: y, y2: y }),
    svg("circle", { class: "chart-dot", cx: at, cy: y, r: 6 }),
    svg(
      "text",
      { class: "chart-number", x: Math.min(Math.max(x(row.high), at + 6) + 10, x(to) + 12), y: y + 4.5 },
      String(Math.round(row.mean)),
    ),
  );
  return group;
}
