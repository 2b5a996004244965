// /openapi.json -> a list of all calls, each with a form that sends it.

import { bodyForm, contentOf, example, typeName } from "./schema.js";

const METHODS = ["get", "post", "put", "patch", "delete"];

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** A text whose `code` is between backticks -> what to show. */
function prose(text) {
  return text.split("`").map((part, at) => (at % 2 ? make("code", {}, part) : part));
}

function note(text) {
  return text ? make("p", { class: "lines muted" }, ...prose(text)) : null;
}

function parameterField(spec, parameter) {
  const { name, schema = {}, required, description } = parameter;
  const about = [typeName(spec, schema), required ? "required" : null, description].filter(Boolean).join(", ");
  const input = make("input", { class: "input", name, placeholder: schema.default ?? "" });
  input.required = Boolean(required);
  const words = make("span", { class: "muted" }, about);
  return make("label", {}, make("span", {}, make("code", {}, name), make("br"), words), input);
}

// The values of one parameter: a list is written with commas.
function valuesOf(spec, parameter, text) {
  const isList = typeName(spec, parameter.schema ?? {}).startsWith("list");
  return isList ? text.split(",").map((part) => part.trim()) : [text];
}

function addressOf(spec, path, parameters, form) {
  const query = new URLSearchParams();
  let address = path;
  for (const parameter of parameters) {
    const text = form.elements[parameter.name].value;
    if (parameter.in === "path") address = address.replace(`{${parameter.name}}`, encodeURIComponent(text));
    else if (parameter.in === "query" && text !== "") {
      for (const value of valuesOf(spec, parameter, text)) query.append(parameter.name, value);
    }
  }
  return query.size ? `${address}?${query}` : address;
}

function headersOf(parameters, form) {
  const named = parameters.filter((one) => one.in === "header" && form.elements[one.name].value !== "");
  return Object.fromEntries(named.map((one) => [one.name, form.elements[one.name].value]));
}

async function shown(response) {
  const type = response.headers.get("content-type") ?? "";
  const head = `${response.status} ${response.statusText} ${type}\n\n`;
  if (type.includes("json")) return head + JSON.stringify(await response.json(), null, 2);
  if (type.startsWith("text/")) return head + (await response.text());
  return `${head}${(await response.blob()).size} bytes`;
}

function tryForm(spec, method, path, operation) {
  const parameters = operation.parameters ?? [];
  const body = bodyForm(spec, operation, make);
  const output = make("pre", { "aria-live": "polite", tabindex: "0", hidden: "" });
  const fields = parameters.map((parameter) => parameterField(spec, parameter));
  const send = make("button", { class: "button", type: "submit" }, "Send");
  const form = make("form", {}, ...fields, ...body.fields, send, output);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    output.hidden = false;
    output.textContent = "…";
    try {
      const sent = body.request(form);
      const headers = { ...sent.headers, ...headersOf(parameters, form) };
      const address = addressOf(spec, path, parameters, form);
      output.textContent = await shown(await fetch(address, { method: method.toUpperCase(), ...sent, headers }));
    } catch (error) {
      output.textContent = String(error.message ?? error);
    }
  });
  return form;
}

function responseLines(spec, operation) {
  return Object.entries(operation.responses ?? {}).map(([status, response]) => {
    const content = contentOf(response);
    const words = (response.description ?? "").replace(/\.$/, "");
    const type = content ? ` (${content.type})` : "";
    const line = make("p", {}, make("code", {}, status), ` ${words}${type}`);
    if (!content?.schema || Number(status) >= 400) return line;
    const text = JSON.stringify(example(spec, content.schema), null, 2);
    return make("div", {}, line, make("pre", { tabindex: "0" }, text));
  });
}

function operationBox(spec, method, path, operation) {
  const summary = make(
    "summary",
    {},
    make("span", { class: "method" }, method.toUpperCase()),
    make("span", { class: "path" }, path),
    make("span", { class: "muted" }, ` ${operation.summary ?? ""}`),
  );
  const box = make("details", { id: `${method}-${path.replaceAll(/[^a-z0-9]+/gi, "-")}` }, summary);
  // forms are made when they are looked at: there are a hundred calls
  const fill = () => {
    const parts = [note(operation.description), tryForm(spec, method, path, operation), make("h3", {}, "Answers")];
    box.append(make("div", { class: "inside" }, ...parts.filter(Boolean), ...responseLines(spec, operation)));
  };
  box.addEventListener("toggle", fill, { once: true });
  return box;
}

function operationsOf(spec, tag) {
  return Object.entries(spec.paths).flatMap(([path, operations]) =>
    METHODS.filter((method) => operations[method]?.tags?.includes(tag)).map((method) =>
      operationBox(spec, method, path, operations[method]),
    ),
  );
}

async function show() {
  const page = document.getElementById("api");
  const response = await fetch("/openapi.json");
  if (!response.ok) {
    const words = `The description could not be loaded: ${response.status}. Reload the page.`;
    page.append(make("p", { role: "alert" }, words));
    return;
  }
  const spec = await response.json();
  page.append(make("p", { class: "lines" }, ...prose(spec.info.description ?? "")));
  for (const { name, description } of spec.tags ?? []) {
    page.append(make("section", {}, make("h2", {}, name), note(description), ...operationsOf(spec, name)));
  }
  document.getElementById(location.hash.slice(1))?.setAttribute("open", "");
}

show();
