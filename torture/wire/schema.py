"""Every operation of the service's own OpenAPI with values good and bad -> answers as the schema names them."""

from typing import Any

import numpy as np
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from requests import Session
from requests.adapters import HTTPAdapter
from schemathesis import GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from torture.attack import Figures, check
from torture.wire.client import loopback_address
from torture.wire.target import Target

# 500 is named by no operation, so that `status_code_conformance` finds it; 503 and 507 are where they may occur
CHECKS = [content_type_conformance, response_schema_conformance, status_code_conformance]
TIMEOUT_SECONDS = 120
MAX_FAILURES_TOLD = 3


class _FromAddress(HTTPAdapter):
    """Connects from an address of loopback."""

    def __init__(self, address: str) -> None:
        self._address = address
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, source_address=(self._address, 0), **options)


def ask_every_operation(target: Target, random: np.random.Generator, n: int) -> Figures:
    """Ask each operation ``n`` times with good and ``n`` times with bad values."""
    schema = schemathesis.openapi.from_url(f"{target.service.url}/openapi.json", headers=target.service.headers)
    first_seed = int(random.integers(2**32))
    print(f"    schemathesis: seed {first_seed}", flush=True)
    failures: list[str] = []
    counts = {"calls": 0, "operations": 0}
    with Session() as session:
        session.mount("http://", _FromAddress(loopback_address(random)))
        for found in schema.get_all_operations():
            operation = found.ok()
            counts["operations"] += 1
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                try:
                    counts["calls"] += _ask(operation, mode, n, first_seed, session, target.service.headers)
                except FailureGroup as failure:
                    failures.append(f"{operation.label}: {' '.join(str(failure).split())[:300]}")
    check(not failures, f"seed {first_seed}: {len(failures)} operations, {'; '.join(failures[:MAX_FAILURES_TOLD])}")
    return {f"schemathesis {name}": n for name, n in counts.items()} | {"schemathesis seed": first_seed}


def _ask(
    operation: Any, mode: GenerationMode, n: int, first_seed: int, session: Session, headers: dict[str, str]
) -> int:
    """Ask one operation with values of a kind; return how often."""
    n_calls = 0

    @seed(first_seed)
    @settings(
        max_examples=n,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        nonlocal n_calls
        n_calls += 1
        case.call_and_validate(checks=CHECKS, session=session, headers=headers, timeout=TIMEOUT_SECONDS)

    try:
        ask()
    except Unsatisfiable:  # of an operation that takes nothing no value is bad
        check(mode is GenerationMode.NEGATIVE, f"no good values for {operation.label}")
    return n_calls
