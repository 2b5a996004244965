"""When: every way to write a time, and the fast way to read many."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsong.listens.times import parse_time, parse_times

MOMENT = 1675168440  # 2023-01-31 12:34:00 UTC

SECONDS = st.integers(100_000_000, 4_102_444_799)


@pytest.mark.parametrize(
    "text",
    [
        1675168440,
        1675168440.0,
        "1675168440",
        "1675168440.9",
        "1675168440000",
        1675168440000,
        "1675168440000000",
        "1675168440000000000",
        "2023-01-31T12:34:00Z",
        "2023-01-31T12:34:00.000Z",
        "2023-01-31 12:34",
        "2023-01-31 12:34:00 UTC",
        "2023-01-31T14:34:00+02:00",
        "2023-01-31T07:04:00-05:30",
        "2023/01/31 12:34",
        "20230131123400",
        "31 Jan 2023 12:34",
        "31 Jan 2023, 12:34",
        "31 Jan 2023, 12:34:00",
        "January 31, 2023 at 12:34PM",
        "Jan 31, 2023 12:34",
        "31.01.2023 12:34",
        "  31 January 2023 12:34 ",
    ],
)
def test_a_time_is_read_however_it_is_written(text):
    assert parse_time(text) == MOMENT


@pytest.mark.parametrize("text", ["2023-01-31", "20230131", "31 Jan 2023", "2023/01/31", "31.01.2023"])
def test_a_day_is_its_first_second_in_utc(text):
    assert parse_time(text) == MOMENT - MOMENT % 86400


@pytest.mark.parametrize("nothing", ["", "  ", None, float("nan"), "null", "NaN", 0, "0"])
def test_no_time_is_zero(nothing):
    assert parse_time(nothing) == 0


@pytest.mark.parametrize(
    "nonsense",
    [
        "yesterday",
        "03/04/2023",  # April or March
        "31 Foo 2023",
        "31 Feb 2023 12:00",
        "31 Jan 2023 25:00",
        "31 Jan 2023 13:00 PM",
        "-5",
        -5,
        True,
        float("inf"),
        "1e400",
        "9" * 5000,
        "2023-13-01",
        "0001-01-01",
    ],
)
def test_what_is_no_time_is_minus_one(nonsense):
    assert parse_time(nonsense) == -1


def test_a_text_that_is_too_long_for_a_time_is_not_searched_for_one():
    assert parse_time("31 Jan 2023," + " " * 20 + "12:34") == MOMENT
    assert parse_time("31 Jan 2023," + " " * 60 + "12:34") == -1


def test_midnight_and_noon_of_a_twelve_hour_clock():
    assert parse_time("Jan 31, 2023 12:00 AM") == MOMENT - MOMENT % 86400
    assert parse_time("Jan 31, 2023 12:00 PM") == MOMENT - MOMENT % 86400 + 43200
    assert parse_time("Jan 31, 2023 1:00pm") == MOMENT - MOMENT % 86400 + 46800


def test_milliseconds_that_look_like_a_day_of_the_middle_ages_are_milliseconds():
    assert parse_times(["1212121212345", "1212121212345"]).tolist() == [1212121212] * 2


@given(SECONDS, st.integers(-14 * 60, 14 * 60))
def test_iso_8601_with_any_offset_means_the_same_moment(seconds, minutes):
    zone = timezone(timedelta(minutes=minutes))
    assert parse_time(datetime.fromtimestamp(seconds, zone).isoformat()) == seconds


@given(SECONDS)
def test_a_time_without_a_zone_is_utc(seconds):
    moment = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    assert parse_time(moment.isoformat(" ")) == seconds
    assert parse_time(moment.strftime("%d %b %Y, %H:%M:%S")) == seconds
    assert parse_time(moment.strftime("%B %d, %Y at %I:%M:%S%p")) == seconds


values = st.one_of(
    SECONDS,
    SECONDS.map(str),
    SECONDS.map(lambda s: s * 1000),
    SECONDS.map(lambda s: datetime.fromtimestamp(s, UTC).isoformat()),
    st.sampled_from(["", None, "soon", "31 Jan 2023 12:34", 0, -1, 1.5]),
)


@given(st.lists(values, max_size=8))
def test_many_times_are_read_as_each_alone(column):
    times = parse_times(column)
    assert times.dtype == np.int64
    assert times.tolist() == [parse_time(value) for value in column]
