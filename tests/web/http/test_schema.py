"""What the API says of itself is what it does: schemathesis asks every operation with values good and bad.

The run is bounded and always the same: a few examples an operation, no database, a fixed order. Jobs are started in
earnest, but what runs is a program that ends at once, so that nothing is scanned or trained; uploads are limited to a
handful, and further ones are answered with 429, which is one of the answers that the schema names.
"""

import shutil

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from nearsong.library import Library
from nearsong.web.settings import ServeSettings
from running_service import running

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
EXAMPLES = 6


@pytest.fixture(scope="module")
def api_schema(trained_file, tmp_path_factory):
    library_file = shutil.copy(trained_file, tmp_path_factory.mktemp("schema") / "library.sqlite")
    limited = ServeSettings(port=0, uploads_per_minute=3, jobs_per_hour=1000)
    with Library.open(library_file) as library:
        server = running(library, limited)
        server.service.jobs.command = ("/bin/true",)
        with server as address:
            schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
            yield schema


def asked_with(operation, mode):
    """Ask one operation with values of a kind."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case):
        case.call_and_validate(checks=CHECKS, timeout=60)

    ask()


@pytest.mark.parametrize(
    "mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["good values", "bad values"]
)
def test_every_operation_answers_as_its_description_says(api_schema, mode):
    wrong = []
    for found in api_schema.get_all_operations():
        operation = found.ok()
        try:
            asked_with(operation, mode)
        except Unsatisfiable:  # of an operation that takes nothing no value is bad
            assert mode is GenerationMode.NEGATIVE
        except FailureGroup as failure:
            wrong.append(f"{operation.label}: {failure}")
    assert not wrong, "\n\n".join(wrong)


def test_every_operation_of_the_api_is_asked(api_schema):
    asked = {operation.ok().label for operation in api_schema.get_all_operations()}
    assert len(asked) >= 25
    assert {"GET /api/v1/similar", "POST /api/v1/query", "POST /api/v1/jobs", "GET /api/v1/map"} <= asked
