"""What the API says of itself beyond its routes."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from nearsong.web.schemas import Problem

DESCRIPTION = """\
A music library that learns from its listeners: search it, ask what is near a song or a file nobody has heard before,
make playlists, draw the map, and train.

- Songs are asked for by number; lists come in pages with `offset` and `limit`, and `next` is the address of the next.
- An error is `application/problem+json` (RFC 9457): `type`, `title`, `status` and a `detail` that says what to do.
- On another address than 127.0.0.1 send the token as `Authorization: Bearer TOKEN`.
- Existing players speak OpenSubsonic, below `/rest`.
"""

TAGS: list[dict[str, Any]] = [
    {"name": "status", "description": "What there is, and whether all is well."},
    {"name": "songs", "description": "The library: search, play, covers."},
    {"name": "similar", "description": "What is near, and why."},
    {"name": "query", "description": "Files that nobody has heard before."},
    {"name": "playlists", "description": "Made from seeds, saved, exported."},
    {"name": "map", "description": "The learned space in two dimensions."},
    {"name": "listens", "description": "What was listened to: histories to learn from."},
    {"name": "model", "description": "How good it is, and which model answers."},
    {"name": "jobs", "description": "Scans, trainings and maps, with progress."},
]


def describe(app: FastAPI) -> None:
    """Let an application describe itself, with problems for errors and with the token."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(
                title=app.title, version=app.version, description=DESCRIPTION, routes=app.routes, tags=TAGS
            )
            schemas = found.setdefault("components", {}).setdefault("schemas", {})
            schemas["Problem"] = Problem.model_json_schema()
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            _use_problems(found)
            found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            found["security"] = [{}, {"token": []}]
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


ANY = {
    401: "The token is needed.",
    403: "A page of another site asks.",
    421: "The service is not called that.",
    503: "The library is kept busy.",
}
"""Problems that any operation may answer with ..."""

WRITING = {
    400: "The request cannot be read.",
    413: "The request is too large.",
    422: "The request is not valid.",
}
"""... and those of one that takes something."""


def _use_problems(found: dict[str, Any]) -> None:
    """Name for every operation the problems that it shares with others."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path in found["paths"].values():
        for method, operation in path.items():
            answers = operation["responses"]
            if "application/json" in answers.get("422", {}).get("content", {}):
                answers["422"] = {"description": WRITING[422], "content": content}
            for status, words in {**ANY, **(WRITING if method != "get" else {})}.items():
                answers.setdefault(str(status), {"description": words, "content": content})
