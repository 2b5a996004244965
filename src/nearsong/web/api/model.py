"""The model that answers: how good it is on artists it was not shown, the others that are kept, and new music."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from nearsong.errors import InvalidInputError
from nearsong.library.held_out_report import Estimate, TrainingReport
from nearsong.library.store import ModelRow
from nearsong.library.training_words import LABELS, PLAIN, advice, sentences
from nearsong.web.answers import song_json
from nearsong.web.files import etag_of, kept
from nearsong.web.limits import spend
from nearsong.web.problems import ApiError, responses
from nearsong.web.schemas import (
    ColdStartOut,
    EstimateOut,
    KeptModel,
    ModelOut,
    ReportOut,
    ScoreOut,
    SongOut,
    UseModelIn,
    UseModelOut,
)
from nearsong.web.service import Shared

router = APIRouter(tags=["model"])


@router.get(
    "/model",
    response_description="The model and its report.",
    summary="How good the model is that answers",
    responses={304: {"description": "The caller has it already."}, **responses(503)},
    response_model=ModelOut,
)
def model(request: Request, service: Shared) -> Any:
    """Return the model that answers with the report of its training, and all models that are kept."""
    rows, active = service.library.models(), service.library.active_model
    answer = ModelOut(
        active=next((_kept(row, active) for row in rows if row.id == active), None),
        report=_last_report(service.library.refused_report(), rows, active),
        models=[_kept(row, active) for row in rows],
    )
    body = answer.model_dump_json().encode()
    etag = etag_of(body)
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    return kept(request, etag) or Response(body, headers=headers, media_type="application/json")


@router.put(
    "/model",
    response_description="Which model answers now.",
    summary="Let another model answer",
    responses=responses(404, 409, 422, 429, 503),
)
def use(request: Request, service: Shared, wanted: UseModelIn) -> UseModelOut:
    """Choose among the models that are kept; back to an older one, say."""
    spend(service.job_limit, request, "changes")
    if wanted.id not in {row.id for row in service.library.models()}:
        raise ApiError(404, f"there is no model {wanted.id}; choose one of those that are kept.", "no-such-model")
    unheard = service.library.use_model(wanted.id)
    service.refresh()
    return UseModelOut(active=service.library.active_model, unheard=unheard)


@router.get(
    "/model/cold-start",
    response_description="Counts and examples.",
    summary="How much music that nobody has played comes up",
    responses=responses(409, 422, 503),
)
def cold_start(
    service: Shared, n: Annotated[int, Query(ge=1, le=50, description="Nearest songs looked at.")] = 10
) -> ColdStartOut:
    """Return how many never-played songs are among the nearest of played ones, as learned and by sound alone."""
    snapshot = service.snapshot
    with service.heavy.turn():
        found = snapshot.cold_start(n)
    return ColdStartOut(
        songs=found.songs,
        never_played=found.never_played,
        seeds=found.seeds,
        sampled=found.sampled,
        n=found.n,
        recommended=found.recommended,
        recommended_native=found.recommended_native,
        examples=[SongOut(**song_json(song, snapshot.plays)) for song in found.examples],
    )


def _kept(row: ModelRow, active: int | None) -> KeptModel:
    report = _report(row)
    score = None if report is None else report.score("learned", "known")
    return KeptModel(id=row.id, kind=row.kind, created=row.created, active=row.id == active, score=score)


def _report(row: ModelRow) -> TrainingReport | None:
    try:
        return TrainingReport.from_json(row.facts["report"]) if "report" in row.facts else None
    except InvalidInputError:  # of a later version
        return None


def _last_report(refused: TrainingReport | None, rows: list[ModelRow], active: int | None) -> ReportOut | None:
    """Return the last training's report if it was refused; else that of the model that answers, or the last one."""
    if refused is not None:
        return report_out(refused)
    in_turn = sorted(rows, key=lambda row: (row.id != active, -row.id))
    report = next((found for row in in_turn if (found := _report(row)) is not None), None)
    return None if report is None else report_out(report)


def report_out(report: TrainingReport) -> ReportOut:
    """Return a training's report as the API has it."""
    return ReportOut(
        decision=report.decision,
        sentences=sentences(report, PLAIN),
        advice=advice(report, PLAIN),
        rows=[
            ScoreOut(
                name=row.name,
                label=LABELS.get(row.name, row.name).removeprefix("native: "),
                known=_estimate(row.known),
                unknown=_estimate(row.unknown),
            )
            for row in report.rows
        ],
        listeners=report.listeners,
        artists=report.artists,
        songs=report.songs,
        loss=report.loss,
        seconds=float(report.seconds.get("total", 0.0)),
    )


def _estimate(found: Estimate | None) -> EstimateOut | None:
    if found is None:
        return None
    return EstimateOut(mean=found.mean, low=found.low, high=found.high, artists=found.artists)
