"""Generic tables: every separator, quotes, odd rows."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsong.errors import ListensError
from nearsong.listens import open_listens, sources
from nearsong.listens.layouts import find_layout
from nearsong.listens.sources import SourceFile
from nearsong.listens.tables.strict_table import even_columns


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_every_separator_is_recognised(write, listens, delimiter):
    path = write(
        "plays.txt", delimiter.join(["user", "artist", "plays"]) + "\n" + delimiter.join(["ann", "Bob", "3"])
    )
    assert listens(path) == [("ann", "Bob", "", 3, 0)]
    assert open_listens(path).format == ("tsv" if delimiter == "\t" else "csv")


def test_a_comma_in_a_name_does_not_confuse_semicolons(write, listens):
    path = write("plays.csv", "User;Artist;Play Count\nann;Earth, Wind & Fire;3\n")
    assert listens(path) == [("ann", "Earth, Wind & Fire", "", 3, 0)]


def test_excels_separator_line_is_understood(write, listens):
    assert listens(write("plays.csv", "sep=;\nuser;artist;plays\nann;Bob;3\n")) == [("ann", "Bob", "", 3, 0)]


def test_quoted_fields_may_hold_separators_quotes_and_line_ends(write, listens):
    path = write("plays.csv", 'artist,title,plays\n"A, B","say ""yes""",1\n"C\nD",x,2\n')
    assert listens(path) == [("me", "A, B", 'say "yes"', 1, 0), ("me", "C\nD", "x", 2, 0)]


def test_tabs_with_completely_quoted_fields_are_quoted_and_others_are_not(write, listens):
    quoted = write("a.tsv", 'artist\ttitle\n"A ""B"""\tx\nplain\ty\n')
    literal = write("b.tsv", 'artist\ttitle\n"Weird Al" Yankovic\tEat It\n"Heroes\tx\n')
    stray = write("c.tsv", 'artist\ttitle\n"Heroes\tx\nplain\ty\n')
    mixed = write("d.tsv", 'artist\ttitle\n"Heroes"\tx\n"Weird Al" Yankovic\ty\n')
    assert [row[1] for row in listens(quoted)] == ['A "B"', "plain"]
    assert [row[1] for row in listens(literal)] == ['"Weird Al" Yankovic', '"Heroes']
    assert [row[1] for row in listens(stray)] == ['"Heroes', "plain"]
    assert [row[1] for row in listens(mixed)] == ['"Heroes"', '"Weird Al" Yankovic']


def test_without_a_user_it_is_me_or_whom_one_says(write, listens):
    path = write("plays.csv", "artist,title\nBob,Song\n")
    assert listens(path) == [("me", "Bob", "Song", 1, 0)]
    assert listens(path, user="ann") == [("ann", "Bob", "Song", 1, 0)]


def test_a_list_of_artists_needs_no_quotes(write, listens):
    path = write("artists.txt", "Artist\nEarth, Wind & Fire\nAC;DC\n")
    assert [row[1] for row in listens(path)] == ["Earth, Wind & Fire", "AC;DC"]


def test_times_and_mbids_are_read(write):
    path = write(
        "plays.csv",
        "Username,Artist Name,Track Name,Played At,Recording_MBID,Artist MBID\n"
        "ann,Bob,Song,2023-01-31T12:34:00Z,b10bbbfc-cf9e-42e0-be17-e2c3e1d2600d,none\n",
    )
    history = open_listens(path)
    (block,) = history.blocks()
    assert (history.format, history.kind) == ("csv", "events")
    assert block.tracks[0].recording_mbid == "b10bbbfc-cf9e-42e0-be17-e2c3e1d2600d"
    assert block.tracks[0].artist_mbid == ""
    assert block.time.tolist() == [1675168440]


def test_a_playlist_column_makes_playlists(write, listens):
    path = write("lists.csv", "playlist_name,artist,title\nEvening,Bob,Song\n")
    assert open_listens(path).kind == "playlists"
    assert listens(path) == [("Evening", "Bob", "Song", 1, 0)]


def test_odd_rows_are_reported_with_their_lines(write, listens):
    reported = []
    path = write(
        "plays.csv",
        'user,artist,plays\nann,A,1\n\nann,B,2,3\n"ann","C\nD",4\nann,,5\nann,E\nann,F,6,,\n  \nann,G,7\n',
    )
    rows = listens(path, on_bad_row=reported.append)
    assert [row[1] for row in rows] == ["A", "C\nD", "F", "G"]
    assert [message.split("plays.csv, ")[1].split(":")[0] for message in reported] == ["line 4", "line 7", "line 8"]
    assert "4 fields where 3 are expected; put a field with ',' in quotes." in reported[0]


def test_odd_rows_between_tabs_are_reported_with_their_lines(write, listens):
    reported = []
    path = write("plays.tsv", "user\tartist\tplays\nann\tA\t1\n\nann\tB\t2\t3\nann\tC\nann\tD\t4\n")
    assert [row[1] for row in listens(path, on_bad_row=reported.append)] == ["A", "D"]
    assert [message.split("plays.tsv, ")[1].split(":")[0] for message in reported] == ["line 4", "line 5"]


def test_a_quote_that_is_not_closed_costs_its_own_row_and_no_other(write, listens):
    reported = []
    rows = ["user,artist,plays", *(f"ann,artist {i},1" for i in range(50)), 'ann,"open,1']
    rows += [*(f"bob,artist {i},1" for i in range(30)), 'bob,"Weird, Al",1', "bob,last,1"]
    found = listens(write("plays.csv", "\n".join(rows)), on_bad_row=reported.append)
    assert len(found) == 82
    assert [row[1] for row in found[-2:]] == ["Weird, Al", "last"]
    assert len(reported) == 1
    assert "line 52: a quote is opened here and not closed" in reported[0]


def test_a_line_that_is_too_long_for_a_row_is_reported(write, listens):
    reported = []
    rows = ["user,artist,plays", "ann,A,1", "ann,B,1", 'ann,"' + "x" * 140_000 + '",1', "ann,C,1"]
    found = listens(write("plays.csv", "\n".join(rows)), on_bad_row=reported.append)
    assert [row[1] for row in found] == ["A", "B", "C"]
    assert len(reported) == 1
    assert "line 4: longer than 128 kB" in reported[0]


def test_no_artist_column_is_an_error_that_lists_what_came(write):
    path = write("plays.csv", "user,title,plays\nann,Song,3\n")
    with pytest.raises(
        ListensError,
        match=r"plays.csv is not a recognised listening history.*names no artist column \(user, title, plays\); ",
    ):
        open_listens(path)


def test_a_header_without_rows_is_an_error(write):
    with pytest.raises(ListensError, match=r"plays.csv has a header but no rows"):
        open_listens(write("plays.csv", "user,artist,plays\n\n"))


def test_a_catalogue_is_refused_unless_one_insists(write, listens):
    path = write("songs.csv", "song_id,artist,title\n1,Bob,Song\n")
    with pytest.raises(
        ListensError, match=r"songs.csv lists songs or artists \(song_id, artist, title\) but not who"
    ):
        open_listens(path)
    assert listens(path, format="csv") == [("me", "Bob", "Song", 1, 0)]


def test_rows_across_pieces_keep_their_lines(write, listens, monkeypatch):
    monkeypatch.setattr(sources, "CHUNK_BYTES", 64)
    reported = []
    rows = "".join(f"u\tartist {i}\t{i % 50 and i}\n" for i in range(1, 200))
    found = listens(write("plays.tsv", "user\tartist\tplays\n" + rows), on_bad_row=reported.append)
    assert len(found) == 196
    assert [message.split("line ")[1].split(":")[0] for message in reported] == ["51", "101", "151"]


cells = st.text(st.characters(exclude_characters="\n\r\t", exclude_categories=["Cs"]), max_size=4)


@given(st.lists(st.lists(cells, min_size=1, max_size=4), min_size=1, max_size=6), st.integers(1, 4))
def test_the_fast_split_agrees_with_a_split_of_every_line_or_declines(rows, width):
    fields = even_columns("\n".join("\t".join(row) for row in rows), len(rows), width)
    if all(len(row) == width for row in rows):
        assert fields == [list(column) for column in zip(*rows, strict=True)]
    else:
        assert fields is None


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=5), st.sampled_from(",;\t|"))
def test_the_separator_of_any_csv_writer_is_found(folder, rows, delimiter):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerows([("user", "artist", "title", "plays"), *((*row, 1) for row in rows)])
    path = folder / "plays.csv"
    path.write_text(text.getvalue(), newline="")
    assert find_layout(SourceFile(path)).delimiter == delimiter
