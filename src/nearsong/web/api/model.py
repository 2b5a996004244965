"""The active model and its quality on held-out artists, the stored models, and recommendations of unplayed music."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from nearsong.errors import InvalidInputError
from nearsong.library import LABELS, MEASURES, PLAIN, Estimate, ModelRow, TrainingReport, advice, sentences
from nearsong.web.http.dependencies import ADMIN
from nearsong.web.http.problems import ApiError, responses
from nearsong.web.http.rate_limits import spend
from nearsong.web.json.answers import Json, song_json
from nearsong.web.json.schemas import (
    ColdStartOut,
    EstimateOut,
    ModelOut,
    ReportOut,
    ScoreOut,
    StoredModel,
    UseModelIn,
    UseModelOut,
)
from nearsong.web.media.files import etag_of, not_modified
from nearsong.web.service.service import Shared
from nearsong.web.service.writes import queued

router = APIRouter(tags=["model"])


@router.get(
    "/model",
    response_description="The model and its report.",
    summary="Get the active model and its quality",
    responses={304: {"description": "Not modified."}, **responses(503)},
    response_model=ModelOut,
)
def model(request: Request, service: Shared) -> Any:
    """Return the active model with the report of its training, and all stored models."""
    rows, active = service.library.models(), service.library.active_model
    answer = ModelOut(
        active=next((_stored(row, active) for row in rows if row.id == active), None),
        report=_last_report(service.library.rejected_report(), rows, active),
        models=[_stored(row, active) for row in rows],
    )
    body = answer.model_dump_json().encode()
    etag = etag_of(body)
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    return not_modified(request, etag) or Response(body, headers=headers, media_type="application/json")


@router.put(
    "/model",
    response_description="The active model.",
    summary="Switch to another model",
    dependencies=[ADMIN],
    responses=responses(403, 404, 409, 422, 429, 503),
)
@queued
def use(request: Request, service: Shared, wanted: UseModelIn) -> UseModelOut:
    """Make a stored model active, such as an earlier one."""
    spend(service.job_limit, request, "changes")
    if wanted.id not in {row.id for row in service.library.models()}:
        raise ApiError(404, f"model not found: {wanted.id}; choose one of the stored models.", "no-such-model")
    not_analysed = service.library.use_model(wanted.id)
    service.refresh()
    return UseModelOut(active=service.library.active_model, not_analysed=not_analysed)


@router.get(
    "/model/cold-start",
    response_description="Counts and examples.",
    summary="Get how many never-played songs are recommended",
    responses=responses(409, 422, 503),
    response_model=ColdStartOut,
)
def cold_start(
    service: Shared, n: Annotated[int, Query(ge=1, le=50, description="Nearest songs for each played song.")] = 10
) -> Response:
    """Return how many never-played songs are among the nearest of played ones, by the active model and by sound."""
    snapshot = service.snapshot
    with service.concurrency.slot():
        result = snapshot.cold_start(n)
    examples = [song_json(song, snapshot.plays) for song in result.examples]
    return Json({**vars(result), "examples": examples, "plays_known": snapshot.plays_known})


def _stored(row: ModelRow, active: int | None) -> StoredModel:
    report = _report(row)
    score = None if report is None else report.score("learned", "known")
    return StoredModel(
        id=row.id,
        kind=row.kind,
        is_learned=row.is_learned,
        created=row.created,
        active=row.id == active,
        score=score,
    )


def _report(row: ModelRow) -> TrainingReport | None:
    try:
        return TrainingReport.from_json(row.facts["report"]) if "report" in row.facts else None
    except InvalidInputError:  # written by a later version
        return None


def _last_report(rejected: TrainingReport | None, rows: list[ModelRow], active: int | None) -> ReportOut | None:
    """Return the last training's report if it was rejected; else that of the active model, or the last one."""
    if rejected is not None:
        return report_out(rejected)
    in_order = sorted(rows, key=lambda row: (row.id != active, -row.id))
    report = next((found for row in in_order if (found := _report(row)) is not None), None)
    return None if report is None else report_out(report)


def report_out(report: TrainingReport) -> ReportOut:
    """Return the report of a training as `ReportOut`."""
    return ReportOut(
        decision=report.decision,
        sentences=sentences(report, PLAIN),
        advice=advice(report, PLAIN),
        rows=[
            ScoreOut(
                name=row.name,
                label=LABELS.get(row.name, row.name),
                **{measure: _estimate(getattr(row, measure)) for measure in MEASURES},
            )
            for row in report.rows
        ],
        listeners=report.listeners,
        artists=report.artists,
        songs=report.songs,
        loss=report.loss,
        method=report.method,
        seconds=float(report.seconds.get("total", 0.0)),
    )


def _estimate(estimate: Estimate | None) -> EstimateOut | None:
    return None if estimate is None else EstimateOut.model_validate(estimate, from_attributes=True)
