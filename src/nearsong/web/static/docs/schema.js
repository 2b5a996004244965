// Schemas of OpenAPI 3.1 -> the name of a type, an example, and the fields of a request's body.

const MAX_DEPTH = 6; // schemas may contain themselves

function resolved(spec, schema) {
  const name = schema?.$ref?.split("/").at(-1);
  return name ? (spec.components?.schemas?.[name] ?? {}) : (schema ?? {});
}

function choices(schema) {
  return (schema.anyOf ?? schema.oneOf ?? []).filter((one) => one.type !== "null");
}

export function typeName(spec, schema) {
  const found = resolved(spec, schema);
  if (found.enum) return found.enum.join(" | ");
  if ("const" in found) return String(found.const);
  if (found.type === "array") return `list of ${typeName(spec, found.items)}`;
  const names = choices(found).map((one) => typeName(spec, one));
  return names.length ? names.join(" or ") : [found.type ?? "any"].flat().join(" or ");
}

export function example(spec, schema, depth = 0) {
  const found = resolved(spec, schema);
  const given = found.example ?? found.examples?.[0] ?? found.default ?? found.const ?? found.enum?.[0];
  if (given !== undefined) return given;
  if (depth > MAX_DEPTH) return null;
  const [choice] = choices(found);
  if (choice) return example(spec, choice, depth + 1);
  if (found.allOf) return Object.assign({}, ...found.allOf.map((one) => example(spec, one, depth + 1)));
  if (found.type === "array") return [example(spec, found.items, depth + 1)];
  if (found.type === "object" || found.properties) {
    const entries = Object.entries(found.properties ?? {});
    return Object.fromEntries(entries.map(([name, one]) => [name, example(spec, one, depth + 1)]));
  }
  return { string: "text", integer: 0, number: 0, boolean: false }[found.type] ?? null;
}

export function contentOf(part) {
  const [entry] = Object.entries(part?.content ?? {});
  return entry ? { type: entry[0], schema: entry[1].schema } : null;
}

function isFile(schema) {
  return schema.format === "binary" || "contentMediaType" in schema;
}

function multipart(spec, schema, make) {
  const named = Object.entries(resolved(spec, schema).properties ?? {});
  const properties = named.map(([name, one]) => [name, resolved(spec, one)]);
  const fields = properties.map(([name, one]) => {
    const input = make("input", { class: "input", name: `body.${name}`, type: isFile(one) ? "file" : "text" });
    return make("label", {}, make("code", {}, name), input);
  });
  const request = (form) => {
    const body = new FormData();
    for (const [name, one] of properties) {
      const input = form.elements[`body.${name}`];
      const value = isFile(one) ? input.files[0] : input.value;
      if (value) body.append(name, value);
    }
    return { body, headers: {} };
  };
  return { fields, request };
}

// What a call sends: fields, and a function from the form to the body and headers of a request.
export function bodyForm(spec, operation, make) {
  const content = contentOf(operation.requestBody);
  if (!content) return { fields: [], request: () => ({ headers: {} }) };
  if (content.type === "multipart/form-data") return multipart(spec, content.schema, make);
  const isJson = content.type.includes("json");
  if (!isJson && isFile(resolved(spec, content.schema))) {
    const file = make("input", { class: "input", type: "file", name: "body" });
    const request = (form) => ({ body: form.elements.body.files[0], headers: { "Content-Type": content.type } });
    return { fields: [make("label", {}, content.type, file)], request };
  }
  const area = make("textarea", { class: "input", name: "body", spellcheck: "false" });
  area.value = isJson ? JSON.stringify(example(spec, content.schema), null, 2) : "";
  const request = (form) => ({ body: form.elements.body.value, headers: { "Content-Type": content.type } });
  return { fields: [make("label", {}, content.type, area)], request };
}
