"""Stored models: two of them side by side, and removing one."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from nearsong.errors import DatabaseError, LibraryError
from nearsong.library import Estimate, ModelRow, compared_scores, comparison_sentences
from nearsong.web.http.dependencies import ADMIN
from nearsong.web.http.problems import ApiError, responses
from nearsong.web.json.schemas import EstimateOut
from nearsong.web.service.service import Service, Shared
from nearsong.web.service.writes import queued

router = APIRouter(prefix="/model", tags=["model"])

MAX_ID = 2**62
ModelId = Annotated[int, Query(ge=1, le=MAX_ID, description="Id of a stored model.")]


class ComparedModel(BaseModel):
    """A model and its scores on held-out artists, as its training measured them."""

    id: int
    kind: str
    created: float
    active: bool
    encoders: list[str]
    known: EstimateOut | None = Field(description="For artists with listens; null if it was not measured.")
    unknown: EstimateOut | None = Field(description="For artists without.")
    learned_from: str = Field(description="What it was learned from, in words; may be empty.")


class ComparisonOut(BaseModel):
    """Two models side by side."""

    models: list[ComparedModel]
    shared: float | None = Field(
        description="Share of the ten nearest songs of a song that both have; null if one has no embeddings."
    )
    words: list[str]


@router.get(
    "/compare",
    response_description="Scores, and how much they agree.",
    summary="Compare two models",
    dependencies=[ADMIN],
    responses=responses(403, 404, 422, 503),
)
def compare(service: Shared, first: ModelId, second: ModelId) -> ComparisonOut:
    """Return the scores of two models side by side, how many nearest songs they share, and that in words."""
    rows = [_row(service, first), _row(service, second)]
    with service.concurrency.slot():
        shared = _shared(service, first, second)
    active = service.library.active_model
    return ComparisonOut(
        models=[_compared(rows[0], rows[1], active), _compared(rows[1], rows[0], active)],
        shared=shared,
        words=comparison_sentences(rows, shared),
    )


@router.delete(
    "/{model_id}",
    status_code=204,
    summary="Remove a model",
    dependencies=[ADMIN],
    responses=responses(403, 404, 409, 422, 503),
)
@queued
def remove(service: Shared, model_id: Annotated[int, Path(ge=1, le=MAX_ID, description="Id of a model.")]) -> None:
    """Remove a stored model for good. The active one, and one that waits to become active, cannot be removed."""
    _row(service, model_id)
    try:
        service.library.remove_model(model_id)
    except DatabaseError:
        raise
    except LibraryError:
        detail = f"model {model_id} is in use; activate another one first."
        raise ApiError(409, detail, "model-in-use") from None


def _row(service: Service, model_id: int) -> ModelRow:
    row = next((row for row in service.library.models() if row.id == model_id), None)
    if row is None:
        raise ApiError(404, f"model not found: {model_id}; choose one of the stored models.", "no-such-model")
    return row


def _shared(service: Service, first: int, second: int) -> float | None:
    """Return the share of nearest songs that two models have in common; None if one has no embeddings now."""
    try:
        return service.library.compare_models(first, second)
    except DatabaseError:
        raise
    except LibraryError:
        return None


def _compared(row: ModelRow, other: ModelRow, active: int | None) -> ComparedModel:
    scores = compared_scores(row, other)
    return ComparedModel(
        id=row.id,
        kind=row.kind,
        created=row.created,
        active=row.id == active,
        encoders=list(row.encoders),
        known=_estimate(scores.known),
        unknown=_estimate(scores.unknown),
        learned_from=scores.learned_from,
    )


def _estimate(estimate: Estimate | None) -> EstimateOut | None:
    return None if estimate is None else EstimateOut.model_validate(estimate, from_attributes=True)
