"""A model that became active in another process -> in use after one look of a service, which it takes each second."""

import pytest

from nearsong.library import Library, restore
from nearsong.web.service.service import POLL_SECONDS, Service


@pytest.fixture
def two(postgres, trained_file, tmp_path):
    """Two services on one library that look for changes only when they are told to."""
    address = postgres.new_schema()
    with Library.open(trained_file) as trained:
        restore(trained.backup(tmp_path / "backup.sqlite"), address)
    with Library.open(address) as first, Library.open(address) as second:
        services = [Service(library) for library in (first, second)]
        yield services
        for service in services:
            service.close()


def test_one_look_is_enough_for_a_model_that_became_active_elsewhere(two):
    assert POLL_SECONDS <= 1
    for service in two:
        service._check(set())
    here, there = two
    learned, native = sorted(here.library.models(), key=lambda row: row.kind)
    for model in (native, learned, native, learned):
        here.library.use_model(model.id)
        before = there.snapshot
        assert before.model.id != model.id
        there._check(set())
        assert there.snapshot is not before
        assert there.snapshot.model.id == model.id
        assert there.snapshot.is_ready()  # so that no request waits
        here._check(set())
        here, there = there, here
