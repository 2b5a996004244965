"""Last.fm: the two research sets and the exports of people's own histories."""

import pytest

from nearsong.errors import ListensError
from nearsong.listens import open_listens

SHA = "00000c289a1829a808ac09c00daf10bc3c4e223b"
MBID = "3bd73256-3905-4f3a-97e2-8b341527f805"
MOMENT = 1675168440


def test_the_360k_set_is_recognised_and_quotes_are_letters(write, listens):
    path = write(
        "usersha1-artmbid-artname-plays.tsv",
        f'{SHA}\t{MBID}\tbetty blowtorch\t2137\n{SHA}\t\t"weird al" yankovic\t29\n{SHA}\t{MBID}\t"heroes\t3\n',
    )
    history = open_listens(path)
    assert (history.format, history.kind) == ("lastfm-360k", "counts")
    assert listens(path) == [
        (SHA, "betty blowtorch", "", 2137, 0),
        (SHA, '"weird al" yankovic', "", 29, 0),
        (SHA, '"heroes', "", 3, 0),
    ]
    (block,) = history.blocks()
    assert block.tracks[0].artist_mbid == MBID


def test_malformed_lines_of_the_360k_set_are_reported(write, listens):
    reported = []
    good = "".join(f"{SHA}\t{MBID}\tartist {i}\t{i + 1}\n" for i in range(50))
    bad = f"{SHA}\t{MBID}\t\t17\n{SHA}\t{MBID}\tno plays\n{SHA}\t{MBID}\tzero\t0\n{SHA}\t{MBID}\ta\tb\t5\n"
    assert len(listens(write("plays.tsv", good + bad + good), on_bad_row=reported.append)) == 100
    assert sorted(message.split("line ")[1].split(":")[0] for message in reported) == ["51", "52", "53", "54"]


def test_the_1k_set_is_recognised(write, listens):
    path = write(
        "userid-timestamp-artid-artname-traid-traname.tsv",
        f"user_000001\t2009-05-04T23:08:57Z\t{MBID}\tDeep Dish\t\tFuck Me Im Famous\n"
        f"user_000001\t2009-05-04T13:54:10Z\t\t坂本龍一\t{MBID}\tComposition 0919\n",
    )
    history = open_listens(path)
    assert (history.format, history.kind) == ("lastfm-1k", "events")
    assert listens(path) == [
        ("user_000001", "Deep Dish", "Fuck Me Im Famous", 1, 1241478537),
        ("user_000001", "坂本龍一", "Composition 0919", 1, 1241445250),
    ]
    (block,) = history.blocks()
    assert block.tracks[1].recording_mbid == MBID


@pytest.mark.parametrize("date", ["31 Jan 2023 12:34", "31 Jan 2023, 12:34"])
def test_lastfm_to_csv_has_no_header_and_what_plays_now_has_no_date(write, listens, date):
    path = write("ann.csv", f'Björk,Homogenic,Jóga,\n"A, B",,Song,"{date}"\nC,D,E,"{date}"\n')
    history = open_listens(path)
    assert (history.format, history.kind) == ("lastfm-csv", "events")
    reported = []
    assert listens(path, user="ann", on_bad_row=reported.append) == [
        ("ann", "A, B", "Song", 1, MOMENT),
        ("ann", "C", "E", 1, MOMENT),
    ]
    assert reported == []


def test_the_csv_with_unix_times_is_recognised(write, listens):
    path = write(
        "recenttracks-ann-1675.csv",
        "uts,utc_time,artist,artist_mbid,album,album_mbid,track,track_mbid\n"
        f'"{MOMENT}","31 Jan 2023, 12:34","Björk","{MBID}","Homogenic","","Jóga","{MBID}"\n'
        '"","","Now","","","","Playing",""\n',
    )
    history = open_listens(path)
    assert (history.format, history.kind) == ("lastfm-csv", "events")
    assert listens(path) == [("me", "Björk", "Jóga", 1, MOMENT)]
    (block,) = history.blocks()
    assert (block.tracks[0].recording_mbid, block.tracks[0].artist_mbid) == (MBID, MBID)


def test_the_csv_of_lastfmstats_names_its_user_in_the_header(write, listens):
    path = write(
        "lastfmstats-ann.csv",
        f'\ufeffArtist;Album;AlbumId;Track;Date#ann\n"Björk";"Homogenic";"{MBID}";"Jóga; live";"{MOMENT}000"\n',
    )
    history = open_listens(path)
    assert (history.format, history.kind) == ("lastfm-csv", "events")
    assert listens(path) == [("ann", "Björk", "Jóga; live", 1, MOMENT)]


def test_an_artist_in_brackets_does_not_make_it_json(write, listens):
    path = write("ann.csv", '[dunkelbunt],Album,Song,"31 Jan 2023 12:34"\n')
    assert listens(path) == [("me", "[dunkelbunt]", "Song", 1, MOMENT)]


def test_a_table_without_header_in_no_known_form_is_refused(write):
    with pytest.raises(ListensError, match=r"names no artist column \(ann, Björk, 3\)"):
        open_listens(write("plays.csv", "ann,Björk,3\nbob,Björk,4\n"))


def test_a_format_can_be_insisted_on(write, listens):
    path = write("plays.txt", "ann\tno mbid\tBjörk\t3\n")
    with pytest.raises(ListensError, match="not a recognised listening history"):
        open_listens(path)
    assert listens(path, format="lastfm-360k") == [("ann", "Björk", "", 3, 0)]
    assert open_listens(path, "lastfm-360k").kind == "counts"


def test_a_wrong_format_that_is_insisted_on_fails_in_one_line(write, listens):
    path = write("plays.csv", "user,artist,plays\n" + "ann,Björk,3\n" * 9)
    with pytest.raises(ListensError, match=r"10 of the first 10 rows are invalid.*line 1: the artist is missing"):
        listens(path, format="lastfm-360k")
