"""Which column is what."""

import pytest

from nearsong.listens.columns import SYNONYMS, find_columns, is_catalogue, listed


@pytest.mark.parametrize(("role", "name"), [(role, name) for role, names in SYNONYMS.items() for name in names])
def test_every_synonym_is_recognised_in_any_dress(role, name):
    for dressed in (name, name.upper(), f" {name[:2]}_{name[2:]} ", f"{name[:3]} {name[3:]}"):
        names = [dressed] if role == "artist" else ["ignored", "artist", dressed]
        columns = find_columns(names)
        assert columns is not None
        column = columns.user if role in ("user", "playlist") else getattr(columns, role)
        assert column == len(names) - 1


def test_no_name_stands_for_two_things():
    names = [name for names in SYNONYMS.values() for name in names]
    assert len(names) == len(set(names))


def test_the_surest_of_two_names_counts():
    columns = find_columns(["utc_time", "uts", "album artist", "artist", "name", "track"])
    assert (columns.time, columns.artist, columns.title) == (1, 3, 5)


def test_without_an_artist_there_are_no_columns():
    assert find_columns(["user", "title", "plays"]) is None
    assert find_columns([]) is None


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["artist"], "counts"),
        (["user", "artist", "plays"], "counts"),
        (["user", "artist", "timestamp"], "events"),
        (["user", "artist", "plays", "timestamp"], "counts"),
        (["playlist", "artist", "title"], "playlists"),
        (["user", "playlist", "artist", "title"], "counts"),
    ],
)
def test_the_kind_follows_from_the_columns(names, kind):
    assert find_columns(names).kind == kind


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["song_id", "artist", "title"], True),
        (["artist", "tag", "count"], True),
        (["artist", "title", "genre", "path"], True),
        (["artist", "title", "album"], False),
        (["artist", "title", "genre", "plays"], False),
        (["user", "artist", "genre"], False),
        (["user", "artist", "tag", "count"], False),
    ],
)
def test_a_list_of_songs_is_distinguished_from_a_list_of_plays(names, expected):
    assert is_catalogue(names, find_columns(names)) is expected


def test_long_headers_are_shortened():
    assert listed(["a", "", "b" * 99]) == "a, (nameless), " + "b" * 40
    assert listed(list("abcdefghij")) == "a, b, c, d, e, f, g, h and 2 more"
