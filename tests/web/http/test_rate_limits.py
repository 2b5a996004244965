"""Who asks too often waits; who asks seldom never does; memory is bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsong.errors import InvalidInputError
from nearsong.web.http import rate_limits as limits
from nearsong.web.http.rate_limits import RateLimit, address_key


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@given(
    st.integers(1, 20), st.floats(0.5, 100), st.integers(1, 10), st.lists(st.floats(0, 30), min_size=1, max_size=60)
)
def test_no_more_come_through_than_the_burst_and_what_came_back_in_between(rate, per, burst, pauses):
    clock = Clock()
    limit = RateLimit(rate, per, burst, clock)
    taken = []
    for pause in pauses:
        clock.now += pause
        wait = limit.take("a")
        if not wait:
            taken.append(clock.now)
        else:
            assert limit.wait("a") == wait
            clock.now += wait + 1e-6
            assert limit.wait("a") == 0
    for first in range(len(taken)):
        for last in range(first, len(taken)):
            passed = taken[last] - taken[first]
            assert last - first + 1 <= burst + passed * rate / per + 1e-3


def test_each_caller_has_permits_of_its_own():
    limit = RateLimit(1, per=60, clock=Clock())
    assert [limit.take(who) for who in ("a", "b", "a", "c")] == [0.0, 0.0, 60.0, 0.0]


def test_looking_takes_nothing():
    limit = RateLimit(1, per=60, clock=Clock())
    assert [limit.wait("a") for _ in range(5)] == [0.0] * 5
    assert limit.take("a") == 0.0


def test_of_many_callers_only_the_last_are_remembered(monkeypatch):
    monkeypatch.setattr(limits, "MAX_CLIENTS", 100)
    limit = RateLimit(1, per=60, clock=Clock())
    for who in range(1000):
        assert limit.take(str(who)) == 0.0
    assert len(limit) == 100
    assert limit.take("999") == 60.0


def test_an_address_of_ipv6_counts_as_its_network():
    assert address_key("2001:db8::1") == address_key("2001:db8::ffff:1")
    assert address_key("2001:db8:0:1::1") != address_key("2001:db8::1")
    assert address_key("fe80::1%eth0") == "fe80::"
    assert address_key("") == ""


@pytest.mark.parametrize(("rate", "per", "burst"), [(0, 1, None), (1, 0, None), (1, 1, 0), (-1, 1, 3)])
def test_a_limit_that_lets_nobody_through_is_refused(rate, per, burst):
    with pytest.raises(InvalidInputError, match="allows no request"):
        RateLimit(rate, per, burst)


def test_who_asks_too_often_learns_when_to_come_back(make_client):
    client = make_client(jobs_per_hour=2)
    answers = [client.put("/api/v1/model", json={"id": 999}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [404, 404, 429]
    assert answers[2].headers["content-type"] == "application/problem+json"
    assert 0 < int(answers[2].headers["retry-after"]) <= 1800
    assert answers[2].json()["type"] == "urn:nearsong:too-many-requests"
    assert "try again in" in answers[2].json()["detail"]
