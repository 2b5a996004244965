// Creates elements. Text is always inserted as text: nothing here parses HTML.
//
//   h(tag, props, ...children) -> Element
//     props     class: "a b" or ["a", wide && "b"]; dataset: {songId: 3}; on: {click: f}; vars: {"--part": "40%"};
//               aria-*: any value (true -> "true"); value, checked, hidden ... as properties;
//               everything else as an attribute (null, undefined and false leave it out, true gives "").
//     children  nodes, strings, numbers, arrays of them; null and false are left out.
//   icon(name) -> SVG element, hidden from screen readers. Names: see icons.js.
//   iconButton(name, label, run, props) -> <button class="icon-button"> with an icon, an aria-label and a click handler
//   button(label, run, {icon, class, ...}) -> <button class="button"> with an icon, a label and a click handler
//   replace(node, ...children) -> node, with only these.
//   announce(text): to screen readers only.

import { shapes } from "./icons.js";

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "disabled", "hidden", "selected"]);

export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) set(node, name, value);
  append(node, children);
  return node;
}

function set(node, name, value) {
  if (value === null || value === undefined) return;
  if (name === "class") node.className = Array.isArray(value) ? value.filter(Boolean).join(" ") : value;
  else if (name === "dataset") Object.assign(node.dataset, value);
  else if (name === "on") Object.entries(value).forEach(([event, run]) => run && node.addEventListener(event, run));
  else if (name === "vars") Object.entries(value).forEach(([key, to]) => node.style.setProperty(key, to));
  else if (PROPERTIES.has(name)) node[name] = value;
  else if (name.startsWith("aria-")) node.setAttribute(name, String(value));
  else if (/^on/i.test(name) || name === "style" || name === "srcdoc")
    throw new Error(`h: "${name}" is not for h; use on, vars or a class`);
  else if (value === true) node.setAttribute(name, "");
  else if (value !== false) node.setAttribute(name, value);
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    node.append(child instanceof Node ? child : String(child));
  }
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  const [lines, solid] = shapes(name);
  for (const [drawing, filled] of [
    [lines, false],
    [solid, true],
  ]) {
    if (!drawing) continue;
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", drawing);
    if (filled) path.setAttribute("class", "solid");
    svg.append(path);
  }
  return svg;
}

export function button(label, run, { icon: name, ...props } = {}) {
  return h("button", { class: "button", type: "button", on: { click: run }, ...props }, name && icon(name), label);
}

export function iconButton(name, label, run, props = {}) {
  return h(
    "button",
    { class: "icon-button", type: "button", "aria-label": label, on: { click: run }, ...props },
    icon(name),
  );
}

export function replace(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

export function announce(text) {
  const region = document.getElementById("announcer");
  if (!region) return;
  region.textContent = "";
  setTimeout(() => {
    region.textContent = text;
  }, 50); // so that the same text is announced again
}
