"""A data-set folder is read as it is written, and whatever is wrong with it is reported in one line."""

import gzip

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nearsong.errors import DatasetError, NearsongError
from nearsong.experiment import Dataset
from nearsong.names import artist_key


def replace(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


# What is read


def test_songs_artists_and_plays_are_those_of_the_files(folder):
    data = Dataset.open(folder)
    assert (data.name, data.folder, data.n_songs) == ("small", folder, 3)
    assert data.song_ids == ("a", "b", "c")
    assert data.titles == ("One", "Two", "Three")
    assert data.genres is None
    assert data.artists == ("beatles", "cream")
    assert data.artist_names == ("The Beatles", "Cream")
    assert data.song_artist.tolist() == [1, 0, 1]
    assert data.plays.toarray().tolist() == [[12, 20], [0, 3]]
    assert data.n_users == 2
    assert data.content == "vectors"
    assert data.vectors.dtype == np.float64
    assert data.vectors.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert (data.tags, data.tag_names, data.vector_names, data.notes) == (None, (), None, ())


def test_a_folder_may_be_given_as_a_string(folder):
    assert Dataset.open(str(folder)).fingerprint() == Dataset.open(folder).fingerprint()


def test_genres_and_column_names_are_read_where_they_are(folder):
    (folder / "songs.csv").write_text("Genre, Artist ,song_id,title\nrock,cream,a,x\n,abba,b,y\npop,abba,c,z\n")
    (folder / "vector_columns.txt").write_text("loud\nfast\n\n")
    data = Dataset.open(folder)
    assert data.genres == ("rock", "", "pop")
    assert data.vector_names == ("loud", "fast")


def test_quoted_fields_may_hold_commas_quotes_and_line_ends(folder):
    (folder / "songs.csv").write_text(
        'song_id,artist,title\na,"Crosby, Stills",x\nb,cream,"say ""yes""\nor no"\nc,abba,y\n'
    )
    data = Dataset.open(folder)
    assert data.artists == ("abba", "cream", "crosby stills")
    assert data.titles[1] == 'say "yes"\nor no'


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_byte_order_marks_and_blank_lines_do_not_matter(folder, line_end, mark):
    expected = Dataset.open(folder)
    for name in ("songs.csv", "listens.csv"):
        text = mark + (folder / name).read_text().replace("\n", line_end) + 2 * line_end
        (folder / name).write_bytes(text.encode())
    data = Dataset.open(folder)
    assert data.song_ids == expected.song_ids
    assert data.titles == expected.titles
    assert data.plays.toarray().tolist() == expected.plays.toarray().tolist()


# Names of artists


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("The Beatles", "beatles"),
        ("  Sigur   Rós ", "sigur ros"),
        ("AC/DC", "acdc"),
        ("R.E.M.", "rem"),
        ("A-ha", "a ha"),
        ("Jay\u2010Z", "jay z"),
        ("Simon & Garfunkel", "simon and garfunkel"),
        ("Guns N' Roses", "guns n roses"),
        ("The The", "the"),
        ("The", "the"),
        ("Theatre of Tragedy", "theatre of tragedy"),
        ("!!!", "!!!"),
        ("Ｐｅｒｆｕｍｅ", "perfume"),
        ("КИНО", "кино"),
        ("İlhan İrem", "ilhan irem"),
        ("浜田麻里", "浜田麻里"),
        (" ", ""),
    ],
)
def test_artists_are_compared_by_a_key(name, key):
    assert artist_key(name) == key


@given(st.text(max_size=12))
@settings(max_examples=60)
@example("The the THE x")
@example("-The x")
@example("& -!")
@example("\u2121 &")
def test_the_key_of_a_key_is_the_key(name):
    assert artist_key(artist_key(name)) == artist_key(name)


@given(st.text(max_size=12))
@settings(max_examples=60)
def test_a_key_has_no_white_space_around_or_doubled(name):
    assert artist_key(name) == " ".join(artist_key(name).split())


# Fingerprint


def test_the_fingerprint_is_of_the_data_and_not_of_the_folder(frames_folder, tmp_path):
    before = Dataset.open(frames_folder).fingerprint()
    moved = frames_folder.rename(tmp_path / "elsewhere")
    assert Dataset.open(moved).fingerprint() == before
    assert len(before) == 16


@pytest.mark.parametrize("name", ["songs.csv", "listens.csv", "tags.csv", "vectors.npy", "vector_columns.txt"])
def test_a_change_in_any_table_changes_the_fingerprint(folder, name):
    (folder / "tags.csv").write_text("song_id,tag\na,x\n")
    (folder / "vector_columns.txt").write_text("u\nv\n")
    before = Dataset.open(folder).fingerprint()
    path = folder / name
    if name == "vectors.npy":
        np.save(path, np.ones((3, 2)))
    else:
        path.write_bytes(path.read_bytes() + b"\n")
    assert Dataset.open(folder).fingerprint() != before


def test_a_file_of_frames_of_another_length_changes_the_fingerprint(frames_folder):
    data = Dataset.open(frames_folder)
    before = data.fingerprint()
    np.save(frames_folder / "frames" / "b.npy", np.ones((21, 13)))
    assert data.fingerprint() != before
    (frames_folder / "frames" / "b.npy").unlink()
    with pytest.raises(DatasetError, match=r"b\.npy cannot be read"):
        data.fingerprint()


# What is wrong with a folder


def test_a_dataset_error_is_one_of_ours_and_one_line(folder):
    (folder / "songs.csv").unlink()
    with pytest.raises(NearsongError) as caught:
        Dataset.open(folder)
    assert "\n" not in str(caught.value)


def test_a_missing_folder_or_file_is_named(folder, tmp_path):
    with pytest.raises(DatasetError, match=r"Folder not found: .*nowhere"):
        Dataset.open(tmp_path / "nowhere")
    with pytest.raises(DatasetError, match=r"Folder not found: .*songs\.csv"):
        Dataset.open(folder / "songs.csv")
    (folder / "listens.csv").unlink()
    with pytest.raises(DatasetError, match=r"small has no file of listens; one of listens\.csv, listens\.csv\.gz, "):
        Dataset.open(folder)
    (folder / "songs.csv").unlink()
    with pytest.raises(DatasetError, match=r"small has no songs\.csv"):
        Dataset.open(folder)


def test_songs_need_something_to_encode(folder):
    (folder / "vectors.npy").unlink()
    with pytest.raises(DatasetError, match=r"no vectors\.npy, and songs\.csv has no column 'frames' or 'audio'"):
        Dataset.open(folder)


SONG_ERRORS = {
    "": r"songs\.csv has no header; the first line must name the columns: song_id, artist, title",
    "\n\n": r"songs\.csv has no header",
    "song_id,artist,title\n": r"songs\.csv has a header but no rows",
    "song_id,title,name\na,b,c\n": r"songs\.csv has no column 'artist'; found: song_id, title, name\.",
    "song_id,artist,title,artist\na,b,c,d\n": r"songs\.csv has two columns 'artist'; found",
    "song_id,artist,title\na,x,y\nb,y,z\n\na,z,y\n": r"songs\.csv, lines 2 and 5 have the same song_id 'a'",
    "song_id,artist,title\n,x,y\n": r"songs\.csv, line 2: song_id is empty",
    'song_id,artist,title\na,x,"y\nz"\nb,  ,z\n': r"songs\.csv, line 4: song 'b' has no artist",
    "song_id,artist,title\na,x,y,z\n": r"songs\.csv, line 2: 4 field\(s\) instead of 3; quote fields",
    "song_id,artist,title\na,x\n": r"songs\.csv, line 2: 2 field\(s\) instead of 3",
    'song_id,artist,title\na,x,y\nb,"x,y\nc,z,u\n': r"songs\.csv, line 3: unexpected end of data; quote fields",
    'song_id,artist,title\na,x,y\nb,"x"z,y\n': r"songs\.csv, line 3: ',' expected after '\"'; quote",
}


@pytest.mark.parametrize("text", SONG_ERRORS)
def test_what_is_wrong_in_songs_is_named_with_its_line(folder, text):
    (folder / "songs.csv").write_text(text)
    with pytest.raises(DatasetError, match=SONG_ERRORS[text]):
        Dataset.open(folder)


@pytest.mark.parametrize("name", ["songs.csv", "listens.csv"])
def test_bytes_that_are_not_utf8_are_named_with_their_line(folder, name):
    path = folder / name
    path.write_bytes(path.read_bytes() + b"d,Bj\xf6rk,1\n")
    with pytest.raises(DatasetError, match=rf"{name}, line 5: byte 0xf6 is not UTF-8; save the file as UTF-8"):
        Dataset.open(folder)


def test_a_file_is_gzipped_if_its_first_bytes_say_so_whatever_its_name(folder):
    (folder / "listens.csv").rename(folder / "listens.csv.gz")
    assert Dataset.open(folder).n_users > 0


# Tags


def test_tags_of_songs_and_of_artists_are_read_alike(folder):
    (folder / "tags.csv").write_text("song_id,tag\na,rock\nc,rock\nb, pop \nb,pop\n")
    of_songs = Dataset.open(folder)
    (folder / "tags.csv").unlink()
    with gzip.open(folder / "tags.csv.gz", "wt") as file:
        file.write("artist,tag,count\nCREAM,rock,2\nThe Beatles,pop,1\ncream,jazz,0\n")
    of_artists = Dataset.open(folder)
    for data in (of_songs, of_artists):
        assert data.tag_names == ("pop", "rock")
        assert data.tags.dtype == bool
        assert data.tags.toarray().tolist() == [[False, True], [True, False], [False, True]]
        assert data.notes == ()


def test_tags_of_unknown_songs_are_counted_and_skipped(folder):
    (folder / "tags.csv").write_text("song_id,tag\na,rock\nx,rock\nx,pop\ny,pop\n")
    data = Dataset.open(folder)
    assert data.tag_names == ("rock",)
    assert data.notes == ("tags.csv: skipped 3 rows for 2 unknown songs.",)


def test_tags_for_nobody_here_are_no_tags(folder):
    (folder / "tags.csv").write_text("artist,tag\nsomebody,rock\n")
    data = Dataset.open(folder)
    assert data.tags is None
    assert data.notes == (
        "tags.csv: skipped 1 rows for 1 unknown artists.",
        "tags.csv: ignored, because no song has a tag.",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"tags\.csv has no header"),
        ("song,tag\na,b\n", r"tags\.csv has no column 'song_id' or 'artist'; found: song, tag\."),
        ("song_id,word\na,b\n", r"tags\.csv has no column 'tag'; found: song_id, word\."),
        ("song_id,tag\na,x\nb,\n", r"tags\.csv, line 3: the tag is empty"),
        ("song_id,tag,count\na,x,many\n", r"tags\.csv, line 2: count is 'many'; give a number of at least 0"),
        ("song_id,tag,count\na,x,-1\n", r"tags\.csv, line 2: count is '-1'"),
    ],
)
def test_what_is_wrong_in_tags_is_named_with_its_line(folder, text, message):
    (folder / "tags.csv").write_text(text)
    with pytest.raises(DatasetError, match=message):
        Dataset.open(folder)


def test_two_files_of_tags_are_one_too_many(folder):
    (folder / "tags.csv").write_text("song_id,tag\na,rock\n")
    (folder / "tags.csv.gz").write_bytes(gzip.compress(b"song_id,tag\na,rock\n"))
    with pytest.raises(DatasetError, match=r"has both tags\.csv and tags\.csv\.gz; remove one"):
        Dataset.open(folder)


# The real ones


@pytest.mark.parametrize(
    ("name", "content", "songs", "artists", "users", "joined"),
    [
        ("gtzan-lastfm2k", "frames", 849, 241, 1_892, 139),
        ("spotify-lastfm15k", "vectors", 17_105, 807, 14_995, 807),
        ("cal500-lastfm15k", "vectors", 464, 461, 14_995, 184),
    ],
)
def test_the_real_data_sets_are_read(real_data, name, content, songs, artists, users, joined):
    data = Dataset.open(real_data / name)
    assert (data.content, data.n_songs, len(data.artists), data.n_users) == (content, songs, artists, users)
    assert data.artists == data.artist_names  # their names are keys already
    assert len(np.unique(data.plays.indices)) == joined
    assert data.tags.shape == (songs, len(data.tag_names))
    assert data.tags.nnz
    if content == "frames":
        assert data.frames_of(0).shape == (2_586, 39)


def test_the_first_real_data_set_has_ninety_nine_artists_with_three_listeners(real_data):
    data = Dataset.open(real_data / "gtzan-lastfm2k")
    assert np.sum(np.asarray((data.plays >= 10).sum(axis=0)) >= 3) == 99
