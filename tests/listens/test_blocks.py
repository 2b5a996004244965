"""Rows in columns -> blocks of numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsong.errors import ListensError
from nearsong.listens import BLOCK_ROWS, open_listens
from nearsong.listens.blocks import Batch, BlockBuilder
from nearsong.listens.numbering import TrackNumbers, UserNumbers, clean, clean_mbid

MBID = "b10bbbfc-cf9e-42e0-be17-e2c3e1d2600d"


def one_block(**columns):
    reported = []
    builder = BlockBuilder(reported.append)
    builder.begin("plays.csv", "me")
    blocks = list(builder.add(Batch(numbers=range(2, 2 + len(columns["artist"])), **columns)))
    builder.end()
    (block,) = [*blocks, *builder.finish()]
    return block, reported


def test_columns_have_the_promised_types():
    block, _ = one_block(artist=["Ann", "Bob"], plays=["3", "4"], time=["1700000000", ""])
    assert [column.dtype for column in (block.user, block.item, block.plays, block.time)] == [
        np.int32,
        np.int32,
        np.float32,
        np.int64,
    ]
    assert block.plays.tolist() == [3, 4]
    assert block.time.tolist() == [1700000000, 0]
    assert len(block) == 2


def test_users_and_names_are_there_once_however_much_white_space_they_have():
    block, _ = one_block(
        user=["ann", " ann", "ann\r"],
        artist=["Bob ", "Bob", "\tBob"],
        artist_mbid=[MBID, MBID.upper(), f"https://musicbrainz.org/artist/{MBID}"],
    )
    assert block.users == ["ann"]
    assert [(track.artist, track.artist_mbid) for track in block.tracks] == [("Bob", MBID)]
    assert block.item.tolist() == [0, 0, 0]


def test_names_keep_their_case_and_accents():
    block, _ = one_block(artist=["Björk", "björk", "Bjork"])
    assert [track.artist for track in block.tracks] == ["Björk", "björk", "Bjork"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"artist": ["A", "B", " "]}, "plays.csv, line 4: the artist is missing."),
        ({"artist": ["A", "B", "C"], "user": ["u", "v", ""]}, "plays.csv, line 4: the user is missing."),
        ({"artist": ["A", "B", "C"], "plays": [1, 2, "x"]}, "line 4: plays is 'x'; a number above 0"),
        ({"artist": ["A", "B", "C"], "plays": [1, 2, 0]}, "line 4: plays is 0; a number above 0"),
        ({"artist": ["A", "B", "C"], "plays": [1, 2, -3]}, "line 4: plays is -3;"),
        ({"artist": ["A", "B", "C"], "plays": [1, 2, "inf"]}, "line 4: plays is 'inf';"),
        ({"artist": ["A", "B", "C"], "plays": [1, 2, 1e300]}, "line 4: plays is 1e+300;"),
        ({"artist": ["A", "B", "C"], "plays": [1, 2, 10**400]}, "line 4: plays is 1000"),
        ({"artist": ["A", "B", "C"], "plays": [1, 2, None]}, "line 4: plays is None;"),
        ({"artist": ["A", "B", "C"], "time": ["", "", "soon"]}, "line 4: the time is 'soon'; seconds since 1970"),
    ],
)
def test_a_row_that_cannot_be_used_is_reported_and_left_out(columns, message):
    block, reported = one_block(**columns)
    assert len(reported) == 1
    assert message in reported[0]
    assert len(block) == 2


def test_a_file_of_mostly_bad_rows_raises_before_it_is_reported_row_by_row():
    reported = []
    builder = BlockBuilder(reported.append)
    builder.begin("plays.csv", "me")
    with pytest.raises(
        ListensError,
        match=r"plays.csv: 1001 of the first 2000 rows are invalid.*the first: .*line 1: the artist",
    ):
        list(builder.add(Batch(artist=[""] * 1001 + ["A"] * 999, numbers=range(1, 2001))))
    assert reported == []


def test_half_of_the_rows_may_be_bad():
    block, reported = one_block(artist=["", "A"] * 1000)
    assert len(block) == len(reported) == 1000


def test_a_short_file_of_mostly_bad_rows_raises_at_its_end():
    builder = BlockBuilder()
    builder.begin("plays.csv", "me")
    assert list(builder.add(Batch(artist=["", "A", ""], numbers=range(3)))) == []
    with pytest.raises(ListensError, match="2 of the first 3 rows"):
        builder.end()


def test_later_bad_rows_do_not_end_a_file_that_began_well():
    reported = []
    builder = BlockBuilder(reported.append)
    builder.begin("plays.csv", "me")
    list(builder.add(Batch(artist=["A"] * 1000, numbers=range(1000))))
    list(builder.add(Batch(artist=[""] * 2000, numbers=range(2000))))
    builder.end()
    assert len(reported) == 2000


def test_blocks_are_full_and_never_too_full(write):
    rows = "".join(f"u{i % 7}\t\tartist {i % 1000}\t{i % 9 + 1}\n" for i in range(BLOCK_ROWS + 10_000))
    blocks = list(open_listens(write("plays.tsv", rows)).blocks())
    sizes = [len(block) for block in blocks]
    assert sum(sizes) == BLOCK_ROWS + 10_000
    assert max(sizes) <= BLOCK_ROWS
    assert sizes[0] > BLOCK_ROWS - 60_000  # a piece of the file that does not fit opens the next block
    assert all(len(set(block.users)) == len(block.users) == 7 for block in blocks)
    assert all(len({track.artist for track in block.tracks}) == len(block.tracks) == 1000 for block in blocks)


@given(st.text())
def test_a_clean_name_is_clean_and_can_be_stored(text):
    name = clean(text)
    assert clean(name) == name
    assert "\0" not in name
    assert name.encode().decode() == name


def test_half_a_character_and_nul_are_taken_out_of_names():
    assert clean("a\ud800b") == "a?b"
    assert clean("\0 a\0b ") == "ab"


@pytest.mark.parametrize("text", ["", "unknown", "b10bbbfc-cf9e-42e0-be17", "311", MBID.replace("-", "")])
def test_what_is_no_mbid_is_empty(text):
    assert clean_mbid(text) == ""


@pytest.mark.parametrize("text", [MBID, MBID.upper(), f" {MBID} ", f"https://musicbrainz.org/recording/{MBID}?x=1"])
def test_an_mbid_is_found_in_its_dress(text):
    assert clean_mbid(text) == MBID


odd_names = st.text("ab \n\0é\xa0\u3000\ud800", max_size=3)


@given(st.lists(odd_names, unique=True, min_size=1, max_size=5), odd_names, odd_names)
def test_names_that_are_added_together_get_the_numbers_of_names_one_by_one(names, known, title):
    together, one_by_one = UserNumbers(), UserNumbers()
    tracks_together, tracks_one_by_one = TrackNumbers(), TrackNumbers()
    assert together[known] == one_by_one[known]
    keys = [(name, title, "", "") for name in names]
    together.add_new(names)
    tracks_together.add_new(keys)
    assert [together[name] for name in names] == [one_by_one[name] for name in names]
    assert [tracks_together[key] for key in keys] == [tracks_one_by_one[key] for key in keys]
    assert vars(together) == vars(one_by_one)
    assert vars(tracks_together) == vars(tracks_one_by_one)
