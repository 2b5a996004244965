"""What services export: which rows are listens, skips and hearts, what is left out, and what is refused."""

import io
import json
import zipfile

import pytest

from listens.format_examples import MOMENT, iso, table
from nearsong.errors import ListensError
from nearsong.listens import RowCounts, find_listen_files, open_histories, open_listens
from nearsong.listens.records import Action

ROW = ("me", "Björk", "Jóga", 1, MOMENT)


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def recent(**more):
    return {"artist": {"#text": "Björk"}, "name": "Jóga", "date": {"uts": str(MOMENT)}} | more


@pytest.mark.parametrize(
    "content",
    [
        [{"recenttracks": {"track": [recent()]}}],
        [{"recenttracks": {"track": recent()}}],
        {"recenttracks": {"track": [recent()], "@attr": {"user": "ann"}}},
        {"recenttracks": {"@attr": {"user": "ann"}, "track": [recent(artist={"name": "Björk", "mbid": ""})]}},
        [{"track": [recent()], "@attr": {"page": "1"}}],
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_pages_of_lastfm_come_in_many_shapes(write, listens, content, indent):
    path = write("pages.json", json.dumps(content, indent=indent))
    assert open_listens(path).format == "lastfm-api"
    assert listens(path) == [ROW]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("nested", [False, True])
def test_loved_tracks_of_lastfm_are_hearts(write, listens, indent, nested):
    page = {"lovedtracks": {"track": [recent(artist={"name": "Björk"})], "@attr": {"user": "ann"}}}
    path = write("loved.json", json.dumps([page] if nested else page, indent=indent))
    assert listens(path) == []
    assert listens(path, action=Action.HEART) == [ROW]


def test_what_plays_now_at_lastfm_is_left_out(write, listens):
    counts = RowCounts()
    playing = {"artist": {"#text": "Now"}, "name": "Playing", "@attr": {"nowplaying": "true"}}
    path = write("pages.json", json.dumps([{"recenttracks": {"track": [playing, recent()]}}]))
    assert listens(path, counts=counts) == [ROW]
    assert counts.left_out == {"now playing": 1}


def test_pano_scrobbler_writes_lines_or_a_table_with_hearts(write, listens):
    event = {"timeMs": MOMENT * 1000, "artist": "Björk", "track": "Jóga", "album": "", "event": "scrobble"}
    loved = event | {"event": "love"}
    by_line = write("pano.jsonl", json.dumps(event) + "\n" + json.dumps(loved) + "\n")
    as_table = write("pano.csv", table(list(event), [list(event.values()), list(loved.values())])[0])
    for path in (by_line, as_table):
        assert open_listens(path).format == "pano"
        assert listens(path) == listens(path, action=Action.HEART) == [ROW]


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_comments_before_the_header_are_skipped(write, listens, delimiter):
    header, row = ["Artist", "Track", "Time"], ["Björk", "Jóga", str(MOMENT)]
    text = "# exported from Libre.fm\n#\n" + delimiter.join(header) + "\n" + delimiter.join(row) + "\n"
    assert listens(write("librefm.csv", text)) == [ROW]
    assert listens(write("commented.csv", "#" + delimiter.join(header) + "\n" + delimiter.join(row) + "\n")) == [ROW]


@pytest.mark.parametrize("name", ["listenDate", "listen_date", "playDate", "scrobbleTime", "playedAtUtc", "time_ms"])
def test_a_time_has_many_names(write, listens, name):
    time = MOMENT * 1000 if name == "time_ms" else iso()
    assert listens(write("a.csv", f"artist,title,{name}\nBjörk,Jóga,{time}\n")) == [ROW]
    path = write("a.json", json.dumps([{"artist": "Björk", "title": "Jóga", name: time}]))
    assert (listens(path), open_listens(path).kind) == ([ROW], "events")


def test_apple_names_the_artist_of_an_album_but_not_of_a_playlist(write, listens):
    counts = RowCounts()
    header = ["Container Artist Name", "Container Type", "Song Name", "Event Start Timestamp", "Event Type",
              "Play Duration Milliseconds", "End Reason Type"]  # fmt: skip
    rows = [
        ["Björk", "ALBUM", "Jóga", iso(), "PLAY_END", 40_000, "TRACK_SKIPPED_FORWARDS"],
        ["Björk", "ALBUM", "Jóga", iso(), "PLAY_END", 20_000, "TRACK_SKIPPED_FORWARDS"],
        ["Björk", "ALBUM", "Short", iso(), "PLAY_END", 20_000, "NATURAL_END_OF_TRACK"],
        ["Apple Music", "PLAYLIST", "Jóga", iso(), "PLAY_END", 40_000, "NATURAL_END_OF_TRACK"],
        ["Björk", "ALBUM", "Jóga", iso(), "PLAY_END", 0, "FAILED_TO_LOAD"],
    ]
    path = write("Apple Music Play Activity.csv", table(header, rows)[0])
    assert [row[2] for row in listens(path, counts=counts)] == ["Jóga", "Short"]
    assert listens(path, action=Action.SKIP) == [ROW]
    assert counts.left_out == {"without artist or title": 1, "never played": 1}


def test_apples_days_have_counts_of_plays_and_skips(write, listens):
    header = ["Media type", "Date Played", "Play Count", "Skip Count", "Track Description"]
    path = write("days.csv", table(header, [["AUDIO", "20230131", 3, 2, "Björk - Jóga - Live"]])[0])
    day = MOMENT - MOMENT % 86_400
    assert open_listens(path).kind == "counts"
    assert listens(path) == [("me", "Björk", "Jóga - Live", 3, day)]
    assert listens(path, action=Action.SKIP) == [("me", "Björk", "Jóga - Live", 2, day)]


def test_videos_of_youtube_are_left_out_and_its_pages_are_refused(write, listens):
    counts = RowCounts()
    song = {"header": "YouTube Music", "title": "Watched Jóga", "titleUrl": "x", "time": iso(),
            "subtitles": [{"name": "Björk - Topic"}]}  # fmt: skip
    path = write("watch-history.json", json.dumps([song | {"header": "YouTube"}, song]))
    assert listens(path, counts=counts) == [ROW]
    assert counts.left_out == {"podcasts, audiobooks and videos": 1}
    page = "<html><head><title>My Activity</title></head><body>YouTube Watched</body></html>"
    with pytest.raises(ListensError, match="as HTML; in Google Takeout choose JSON"):
        open_listens(write("watch-history.html", page))


def test_the_extended_history_of_spotify_may_be_a_table(write, listens):
    header = ["ts", "username", "ms_played", "master_metadata_track_name", "master_metadata_album_artist_name",
              "episode_name"]  # fmt: skip
    rows = [[iso(), "me", ms, "Jóga", "Björk", ""] for ms in (30_000, 29_999)]
    path = write("spotify.csv", table(header, rows)[0])
    assert open_listens(path).format == "spotify-extended"
    assert listens(path) == listens(path, action=Action.SKIP) == [(*ROW[:4], MOMENT - 30)]  # when they began


def test_a_zip_of_spotify_gives_listens_with_hearts_and_playlists(write):
    streams = [{"endTime": iso()[:16], "artistName": "Björk", "trackName": "Jóga", "msPlayed": 60_000}]
    liked = {"tracks": [{"artist": "Múm", "track": "Song"}], "albums": [], "artists": []}
    lists = {"playlists": [{"name": "x", "items": [{"track": {"artistName": "A", "trackName": "B"}}]}]}
    path = write(
        "my_spotify_data.zip",
        zipped({
            "a/Playlist1.json": json.dumps(lists),
            "a/StreamingHistory_music_0.json": json.dumps(streams),
            "a/YourLibrary.json": json.dumps(liked),
        }),
    )  # fmt: skip
    histories = open_histories(path)
    assert [(one.format, one.kind) for one in histories] == [
        ("spotify-account", "events"),
        ("spotify-playlists", "playlists"),
    ]
    found = [[track.artist for block in one.blocks() for track in block.tracks] for one in histories]
    assert found == [["Björk", "Múm"], ["A"]]


def test_hetrec_without_its_artists_says_which_file_is_missing(write, listens):
    path = write("lonely/user_artists.dat", "userID\tartistID\tweight\n2\t51\t13883\n")
    with pytest.raises(ListensError, match=r"names artists by number only; put artists\.dat of the same data set"):
        listens(path)
    write("lonely/artists.dat", 'id\tname\turl\tpictureURL\n51\tThe "B"\tx\ty\n')
    assert listens(path) == [("2", 'The "B"', "", 13883, 0)]
    both = {name: (path.parent / name).read_bytes() for name in ("artists.dat", "user_artists.dat")}
    assert listens(write("hetrec.zip", zipped({f"h/{name}": text for name, text in both.items()}))) == listens(path)


def test_a_refusal_names_the_fields_and_the_nearest_format(write):
    streams = [{"trackName": "Jóga", "msPlayed": 5, "endTime": "x"}]
    with pytest.raises(ListensError, match=r"trackName, msPlayed, endTime.*like spotify-account, which needs art"):
        open_listens(write("a.json", json.dumps(streams)))
    text = "Song Name,Event Type,End Reason Type\nJóga,PLAY_END,x\n"
    with pytest.raises(
        ListensError, match=r"\(Song Name, Event Type.*most like apple-activity, which needs Play Duration"
    ):
        open_listens(write("a.csv", text))
    with pytest.raises(ListensError, match=r"^((?!most like).)*$"):
        open_listens(write("a.csv", "a,b\n1,2\n"))


def test_the_user_who_is_named_goes_before_the_file_but_not_over_several_people(write, listens):
    stream = {"ts": iso(), "ms_played": 60_000, "master_metadata_track_name": "Jóga",
              "master_metadata_album_artist_name": "Björk"}  # fmt: skip
    path = write("s.json", json.dumps([stream | {"username": "ann"}, stream]))
    assert [row[0] for row in listens(path)] == ["ann", "me"]
    assert [row[0] for row in listens(path, user="zoe")] == ["zoe", "zoe"]
    many = write("many.csv", "user,artist,plays\nann,A,1\nbob,A,1\n")
    with pytest.raises(ListensError, match=r"listens of several users \(ann, bob \.\.\.\), so that they cannot all"):
        listens(many, user="ann")
    with zipfile.ZipFile(path.with_name("listenbrainz.zip"), "w") as archive:
        archive.writestr("user.json", json.dumps({"username": "ann"}))
        listen = {"listened_at": MOMENT, "track_metadata": {"artist_name": "Björk", "track_name": "Jóga"}}
        archive.writestr("listens/1.jsonl", json.dumps(listen) + "\n")
    assert [row[0] for row in listens(path.with_name("listenbrainz.zip"))] == ["ann"]
    assert [row[0] for row in listens(path.with_name("listenbrainz.zip"), user="zoe")] == ["zoe"]


def test_a_table_with_names_like_those_of_a_service_is_a_table(write, listens):
    path = write("a.csv", f"end_time,artist_name,track_name,ms_played\n{iso()},Björk,Jóga,5\n")
    assert (open_listens(path).format, listens(path)) == ("csv", [ROW])
    path = write("b.csv", f"ts,ms_played,artist,track\n{iso()},5,Björk,Jóga\n")
    assert (open_listens(path).format, listens(path)) == ("csv", [ROW])
    path = write("c.csv", f"endTime,artistName,trackName,msPlayed\n{iso()},Björk,Jóga,5\n")
    assert (open_listens(path).format, listens(path, action=Action.SKIP)) == ("spotify-account", [ROW])


def test_a_zip_of_tables_of_two_kinds_gives_both(write):
    members = {"counts.csv": "artist,title,plays\nA,B,3\n", "listens.csv": f"artist,title,time\nC,D,{MOMENT}\n"}
    histories = open_histories(write("tables.zip", zipped(members)))
    assert [(one.format, one.kind) for one in histories] == [("csv", "events"), ("csv", "counts")]
    assert [[track.artist for block in one.blocks() for track in block.tracks] for one in histories] == [["C"], ["A"]]


def test_a_table_says_what_it_lacks(write):
    artists = open_listens(write("a.csv", "artist,genre\nA,x\n"), "csv").losses
    assert [loss.split(",")[0] for loss in artists] == ["no titles", "no times or counts"]
    assert open_listens(write("b.csv", "artist,title,plays\nA,B,1\n"), "csv").losses == ()
    assert open_listens(write("c.csv", "user\t\tA\t3\n"), "lastfm-360k").losses == ()


def test_the_hidden_log_of_a_player_is_found_in_its_folder(write, tmp_path):
    path = write("player/.scrobbler.log", "#AUDIOSCROBBLER/1.1\n")
    write("player/.hidden.csv", "x")
    assert find_listen_files([tmp_path / "player"]) == [path]
