"""Albums, artists and the first page, as the API gives them."""

import time

import pytest


def test_pages_of_albums_hold_every_album_once_and_next_leads_through_them(client):
    found, address = [], "/api/v1/albums?limit=10&sort=artist&search=first"
    while address:
        page = client.get(address).json()
        found += page["items"]
        address = page["next"]
    assert len({album["id"] for album in found}) == len(found) == page["total"] == 36
    assert {album["song_count"] for album in found} == {2}


def test_an_album_has_its_songs_by_disc_and_others_that_sound_like_it(client):
    listed = client.get("/api/v1/albums?search=band a0").json()["items"][0]
    album = client.get(f"/api/v1/albums/{listed['id']}").json()
    assert listed.items() <= album.items()
    assert [(disc["number"], len(disc["songs"])) for disc in album["discs"]] == [(1, 2)]
    assert [song["title"] for song in album["discs"][0]["songs"]] == ["Song 0", "Song 1"]
    assert len(album["similar"]) == 6
    assert {other["genre"] for other in album["similar"]} == {"low hum"}
    assert client.get(f"/api/v1/songs/{album['cover']}/album").json() == album


def test_an_artist_has_albums_songs_and_artists_who_sound_alike(client):
    listed = client.get("/api/v1/artists?search=band a3").json()["items"][0]
    artist = client.get(f"/api/v1/artists/{listed['id']}").json()
    assert listed.items() <= artist.items()
    assert ([album["name"] for album in artist["albums"]], artist["appears_on"]) == (["First"], [])
    assert len(artist["songs"]) == artist["song_count"] == 2
    plays = [song["plays"] for song in artist["top_songs"]]
    assert plays == sorted(plays, reverse=True)
    styles = [int(other["name"][-1]) + 10 * (ord(other["name"][-2]) - ord("A")) for other in artist["similar"]]
    assert {style % 3 for style in styles} == {0}
    assert client.get(f"/api/v1/songs/{artist['cover']}/artist").json() == artist


@pytest.mark.parametrize("path", ["albums/al-0", "artists/ar-0", "songs/99999/album", "songs/99999/artist"])
def test_what_is_not_there_is_a_problem_in_words(client, path):
    answer = client.get(f"/api/v1/{path}")
    assert answer.status_code == 404
    assert "not found" in answer.json()["detail"]


@pytest.mark.parametrize("query", ["albums?sort=loudness", "albums?limit=0", "artists?offset=-1", "home?n=0"])
def test_an_odd_question_is_a_problem_that_names_the_field(client, query):
    answer = client.get(f"/api/v1/{query}")
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(query.partition("?")[2].partition("=")[0] + ":")


def test_the_first_page_of_somebody_new_has_what_was_added_and_what_others_play(client):
    home = client.get("/api/v1/home?listener=somebody new").json()
    assert home["counts"] == {"songs": 72, "albums": 36, "artists": 36}
    assert len(home["added"]) == 12
    assert (home["queue"], home["played"], home["forgotten"], home["unplayed"]) == (None, [], [], [])
    popular = client.get("/api/v1/for-you?listener=somebody new&n=12").json()["songs"]
    assert [one["song"]["id"] for one in home["for_you"]] == [one["song"]["id"] for one in popular] != []


def test_the_first_page_of_an_empty_library_is_empty(empty_client):
    home = empty_client.get("/api/v1/home").json()
    assert home.pop("listener")
    assert home.pop("counts") == {"songs": 0, "albums": 0, "artists": 0}
    assert not any(home.values())


def test_every_view_counts_the_artists_that_have_a_page(client, monkeypatch):
    albums = client.service.snapshot.albums
    monkeypatch.setattr(albums, "artists", [*albums.artists, albums.artists[0]])  # as one whom only an album names
    counts = [client.get("/api/v1/home").json()["counts"]["artists"], client.get("/api/v1/status").json()["artists"]]
    assert counts == [37, 37]


def test_one_play_here_does_not_tell_what_a_history_of_artists_leaves_open(client, tmp_path):
    library = client.service.library
    library.remove_listens(*(history.id for history in library.listens()))
    (tmp_path / "artists.csv").write_text("user,artist,plays\nanna,Band A0,40\nben,Band A1,30\n")
    library.import_listens(tmp_path / "artists.csv")
    song, other = (item["id"] for item in client.get("/api/v1/songs?limit=2").json()["items"])
    library.play_log.record(song, "anna", at=time.time() - 600)
    library.play_log.update_history()

    def told() -> list[bool]:
        client.service.refresh()
        home = client.get("/api/v1/home?listener=anna").json()
        asked = [
            client.get(f"/api/v1/{path}").json()["plays_known"] for path in (f"songs/{other}", "model/cold-start")
        ]
        return [*asked, bool(home["unplayed"])]

    assert told() == [False, False, False]
    assert client.get(f"/api/v1/songs/{song}").json()["plays"] == 1
    titles = "".join(f"anna,Band A0,{title},20\n" for title in ("Song 0", "Song 1", "Song 99"))
    (tmp_path / "titles.csv").write_text(f"user,artist,title,plays\n{titles}ben,Band A1,Song 10,30\n")
    library.import_listens(tmp_path / "titles.csv")
    assert told() == [True, True, True]


def test_the_first_page_goes_on_with_what_was_played_and_remembers_what_was_forgotten(client):
    library = client.service.library
    now, long_ago = time.time(), time.time() - 90 * 86_400
    recent, old = (client.get(f"/api/v1/songs?search=song {n}&sort=title").json()["items"][0] for n in (31, 120))
    library.play_log.record(recent["id"], "anna", at=now - 600)
    for week in range(3):
        library.play_log.record(old["id"], "anna", at=long_ago - week * 604_800)
    library.play_queues.save([old["id"], recent["id"]], 1, 2_500, "anna", "a player")
    home = client.get("/api/v1/home?listener=anna&n=5").json()
    assert [album["artist"] for album in home["played"]] == [recent["artist"], old["artist"]]
    assert [song["id"] for song in home["forgotten"]] == [old["id"]]
    assert [song["id"] for song in home["queue"]["songs"]] == [recent["id"]]
    assert (home["queue"]["position"], home["queue"]["changed_by"]) == (2.5, "a player")
    near = [one["song"] for one in home["for_you"]]
    assert len(near) == 5
    assert not {song["id"] for song in near} & {recent["id"], old["id"]}
    assert all(one["song"]["plays"] == 0 for one in home["unplayed"])
    assert not {one["song"]["id"] for one in home["unplayed"]} & {song["id"] for song in near}
