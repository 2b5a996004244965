"""The OpenAPI description of the API, beyond its routes."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from nearsong.web.json.schemas import Problem

DESCRIPTION = """\
A music library that learns from its listeners: search songs, find similar ones for a song or an uploaded file,
generate playlists, draw the map, and train.

- Songs have numeric ids; lists are paged with `offset` and `limit`, and `next` is the address of the next page.
- Errors are `application/problem+json` (RFC 9457): `type`, `title`, `status` and a `detail` that says what to do.
- On any address other than 127.0.0.1, send the token as `Authorization: Bearer TOKEN`.
- OpenSubsonic for existing players is below `/rest`.
"""

TAGS: list[dict[str, Any]] = [
    {"name": "status", "description": "State of the service and the library."},
    {"name": "songs", "description": "Search, audio and covers."},
    {"name": "albums", "description": "Albums and artists, and similar ones."},
    {"name": "similar", "description": "Similar songs, and why."},
    {"name": "for you", "description": "Recommendations for a listener, and radio."},
    {"name": "query", "description": "Similar songs of an uploaded file."},
    {"name": "playlists", "description": "Generate, save and export."},
    {"name": "map", "description": "All songs in two dimensions."},
    {"name": "folders", "description": "Folders that are scanned, and those that can be."},
    {"name": "listens", "description": "Listening histories and plays."},
    {"name": "model", "description": "The active model and its quality."},
    {"name": "jobs", "description": "Long tasks with progress."},
    {"name": "listeners", "description": "Accounts, and everything about a listener."},
]


def describe(app: FastAPI) -> None:
    """Add problems and the token to the OpenAPI description of an application."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(
                title=app.title, version=app.version, description=DESCRIPTION, routes=app.routes, tags=TAGS
            )
            schemas = schema.setdefault("components", {}).setdefault("schemas", {})
            schemas["Problem"] = Problem.model_json_schema()
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            _use_problems(schema)
            schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            schema["security"] = [{}, {"token": []}]
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


COMMON_PROBLEMS = {
    401: "The token is missing or wrong.",
    403: "Sent by a page of another site.",
    421: "Unknown host name.",
    503: "The library is busy.",
}
"""Problems of any operation."""

WRITE_PROBLEMS = {
    400: "The request cannot be parsed.",
    413: "The request is too large.",
    422: "The request is not valid.",
    507: "The disk is full.",
}
"""Further problems of operations that are no GET."""


def _use_problems(schema: dict[str, Any]) -> None:
    """Add the common problems to every operation."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path in schema["paths"].values():
        for method, operation in path.items():
            answers = operation["responses"]
            if "application/json" in answers.get("422", {}).get("content", {}):
                answers["422"] = {"description": WRITE_PROBLEMS[422], "content": content}
            for status, words in {**COMMON_PROBLEMS, **(WRITE_PROBLEMS if method != "get" else {})}.items():
                answers.setdefault(str(status), {"description": words, "content": content})
