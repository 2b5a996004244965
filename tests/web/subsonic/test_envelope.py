"""Whatever tags hold, XML and JSON are well formed and say the same."""

import json
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nearsong.library.browsing.albums import AlbumIndex
from nearsong.library.records import Song
from nearsong.web.subsonic.catalogue import SubsonicCatalogue
from nearsong.web.subsonic.envelope import NAMESPACE, ProtocolError, answer, clean, failed, to_xml
from nearsong.web.subsonic.records import album_record, artist_record, song_record
from tagged_songs import tagged_song

ANYTHING = st.text(st.characters(codec=None, exclude_categories=()), max_size=30)
HOSTILE = "<script>alert('&\"')</script>\x00\x01\x1f\ud800\udfff\ufffe\r\n\t]]>\U0010ffff"


def catalogue_of(*songs: Song) -> SubsonicCatalogue:
    return SubsonicCatalogue(SimpleNamespace(albums=AlbumIndex(songs), plays={}, browser=None))


def song_with(text: str, path: str = "/music/a.mp3") -> Song:
    others = {"seconds": 3.2, "recording_mbid": text, "artist_mbid": text}
    return tagged_song(7, text, text, text, text, 1999, path, **others)


@given(ANYTHING)
@example(HOSTILE)
def test_a_text_comes_back_from_xml_and_from_json_as_it_was_cleaned(text):
    body = {"song": {"title": text, "genre": {"songCount": 1, "value": text}, "moods": [text]}}
    found = ET.fromstring(answer("xml", body).body.decode()).find(f"{{{NAMESPACE}}}song")
    assert found.get("title") == clean(text)
    assert (found.find(f"{{{NAMESPACE}}}genre").text or "") == clean(text)
    assert (found.find(f"{{{NAMESPACE}}}moods").text or "") == clean(text)
    reply = json.loads(answer("json", body).body.decode("utf-8"))["subsonic-response"]["song"]
    assert reply == {"title": clean(text), "genre": {"songCount": 1, "value": clean(text)}, "moods": [clean(text)]}


@given(ANYTHING)
def test_only_what_xml_cannot_hold_is_replaced(text):
    stored = clean(text)
    assert len(stored) == len(text)
    for before, after in zip(text, stored, strict=True):
        code = ord(before)
        holds = code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000
        assert after == (before if holds else "\ufffd")


@given(ANYTHING, ANYTHING)
@example(HOSTILE, "../../etc/passwd")
def test_records_of_any_tags_are_well_formed_in_both_forms(tag, name):
    song = song_with(tag, f"/music/{name}.mp3")
    catalogue = catalogue_of(song)
    artist = catalogue.albums.artists[0]
    body = {
        "song": song_record(catalogue, song),
        "album": album_record(catalogue, artist.albums[0]),
        "artist": artist_record(artist),
    }
    root = ET.fromstring(answer("xml", body).body.decode())
    reply = json.loads(answer("json", body).body)["subsonic-response"]
    for kind in body:
        attributes = root.find(f"{{{NAMESPACE}}}{kind}").attrib
        scalars = {key: value for key, value in reply[kind].items() if not isinstance(value, list | dict)}
        assert attributes == {
            key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in scalars.items()
        }


@given(ANYTHING, ANYTHING)
@example("..", "..")
@example("C:\\Windows", "/etc/passwd")
def test_the_path_that_players_name_downloads_by_stays_inside_a_folder(tag, name):
    path = song_record(catalogue_of(song := song_with(tag, f"/music/{name}")), song)["path"]
    parts = path.split("/")
    assert len(parts) == 3
    assert not any(part in ("", ".", "..") or part.startswith(".") for part in parts)
    assert not set(path) & set('\\:*?"<>|\0')


def test_names_of_elements_follow_the_schema_of_the_protocol():
    assert to_xml("a", {"x": True, "y": None, "z": 1.5}) == '<a x="true" z="1.5"/>'
    assert to_xml("user", {"username": "me", "folder": [1, 2]}) == (
        '<user username="me"><folder>1</folder><folder>2</folder></user>'
    )
    info = {"musicBrainzId": "x", "similarArtist": [{"id": "ar-1"}]}
    assert to_xml("artistInfo2", info) == (
        '<artistInfo2><musicBrainzId>x</musicBrainzId><similarArtist id="ar-1"/></artistInfo2>'
    )


def test_every_answer_says_who_answers_and_in_which_version():
    reply = json.loads(answer("json", {}).body)["subsonic-response"]
    assert reply.keys() == {"status", "version", "type", "serverVersion", "openSubsonic"}
    assert (reply["status"], reply["version"], reply["type"], reply["openSubsonic"]) == (
        "ok",
        "1.16.1",
        "nearsong",
        True,
    )
    root = ET.fromstring(answer("xml", {}).body.decode())
    assert root.tag == f"{{{NAMESPACE}}}subsonic-response"
    assert root.attrib == {key: "true" if value is True else value for key, value in reply.items()}


@pytest.mark.parametrize(("form", "media_type"), [("json", "application/json"), ("", "text/xml; charset=utf-8")])
def test_a_failure_is_an_answer_with_http_200(form, media_type):
    response = failed(form, ProtocolError(70, "there is no song <7>."))
    assert response.status_code == 200
    assert response.headers["content-type"] == media_type
    if form:
        reply = json.loads(response.body)["subsonic-response"]
        assert (reply["status"], reply["error"]) == ("failed", {"code": 70, "message": "there is no song <7>."})
    else:
        error = ET.fromstring(response.body.decode())[0]
        assert error.attrib == {"code": "70", "message": "there is no song <7>."}


def test_a_number_that_json_has_no_word_for_is_never_sent():
    with pytest.raises(ValueError, match="not JSON compliant"):
        answer("json", {"similarity": float("nan")})
