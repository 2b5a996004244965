"""What the service does by itself: its settings, what it did, and what is next."""

from fastapi import APIRouter

from nearsong.web.http.dependencies import ADMIN
from nearsong.web.http.problems import responses
from nearsong.web.json.automation import AutomationIn, AutomationOut
from nearsong.web.service.service import Service, Shared
from nearsong.web.service.writes import queued

router = APIRouter(tags=["jobs"])


@router.get(
    "/automation",
    response_description="Settings, the last runs and the next ones.",
    summary="Get what the service does by itself",
    dependencies=[ADMIN],
    responses=responses(403, 503),
)
def automation(service: Shared) -> AutomationOut:
    """Return what the service may do by itself, what it did, and what is next."""
    return _report(service)


@router.put(
    "/automation",
    response_description="The same as before, changed.",
    summary="Change what the service does by itself",
    dependencies=[ADMIN],
    responses=responses(403, 422, 503),
)
@queued
def change(service: Shared, wanted: AutomationIn) -> AutomationOut:
    """Change what the service may do by itself. Services to pull from can only be set by the command line."""
    changes = {name: value for name, value in wanted.model_dump().items() if value is not None}
    service.library.automation.change(**changes)
    return _report(service)


def _report(service: Service) -> AutomationOut:
    is_running = service.automation.is_running
    report = service.library.automation.report(is_running=is_running)
    return AutomationOut.model_validate({**report.as_json(), "is_running": is_running})
