// The API's own page: Swagger UI over /openapi.json.
// This Swagger UI reads OpenAPI 3.0 and the service speaks 3.1; the two differ here in how "or null" is written.

const NULL = (schema) => schema && schema.type === "null";

function older(node) {
  if (Array.isArray(node)) return node.map(older);
  if (node === null || typeof node !== "object") return node;
  const copy = {};
  for (const [name, value] of Object.entries(node)) copy[name] = older(value);
  if (Array.isArray(copy.anyOf) && copy.anyOf.some(NULL)) {
    const rest = copy.anyOf.filter((schema) => !NULL(schema));
    delete copy.anyOf;
    Object.assign(copy, rest.length === 1 ? rest[0] : { anyOf: rest }, { nullable: true });
  }
  if (typeof copy.exclusiveMinimum === "number") {
    copy.minimum = copy.exclusiveMinimum;
    copy.exclusiveMinimum = true;
  }
  if ("const" in copy && !("enum" in copy)) copy.enum = [copy.const];
  return copy;
}

async function show() {
  const response = await fetch("/openapi.json");
  const spec = older(await response.json());
  spec.openapi = "3.0.3";
  window.SwaggerUIBundle({ spec, dom_id: "#api", deepLinking: true, validatorUrl: null, defaultModelsExpandDepth: 0 });
}

show();
