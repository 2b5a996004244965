"""`nearsong encoders`: a person lists, installs, adds and removes encoders."""

import json

import numpy as np
import pytest
import soundfile

from checkpoint_file import musicnn_wheel
from nearsong.library import Library
from onnx_file import linear_network
from synthesised_song import synthesised_song

N_SONGS = 4


@pytest.fixture(scope="module")
def music(tmp_path_factory):
    folder = tmp_path_factory.mktemp("music")
    for i in range(N_SONGS):
        soundfile.write(folder / f"song {i}.flac", synthesised_song(3.5, seed=i) * (0.4 + i / 10), 22_050)
    return folder


@pytest.fixture(scope="module")
def scanned(music, tmp_path_factory):
    file = tmp_path_factory.mktemp("library") / "library.sqlite"
    with Library.open(file) as library:
        library.scan(music, workers=1, encoders=("gaussian",))
    return file


@pytest.fixture
def library(scanned, tmp_path):
    copy = tmp_path / "library.sqlite"
    copy.write_bytes(scanned.read_bytes())
    return copy


@pytest.fixture
def run(nearsong, library, tmp_path):
    """Run a command on the library, with a folder of installed encoders of its own."""
    return lambda *words: nearsong(*words, library=library, NEARSONG_ENCODERS=str(tmp_path / "encoders"))


def states(run) -> dict[str, tuple[bool, bool, int]]:
    rows = json.loads(run("encoders", "list", "--json").stdout)
    return {row["name"]: (row["is_installed"], row["is_used"], row["songs"]) for row in rows}


def test_the_list_works_without_a_library(nearsong, tmp_path):
    done = nearsong("encoders", "list", XDG_DATA_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    for word in ("codewords", "musicnn", "not installed", "ISC", "onnx", "needs a file"):
        assert word in done.stdout


def test_musicnn_is_installed_added_scanned_and_removed(run, tmp_path, monkeypatch):
    for words in (["encoders", "add", "musicnn"], ["scan", "--encoders", "gaussian,musicnn"]):
        done = run(*words)
        assert done.returncode == 2
        assert done.stderr.strip().endswith("not installed. Run: nearsong encoders install musicnn")
    done = run("encoders", "install", "musicnn", "--from", musicnn_wheel(tmp_path, monkeypatch))
    assert done.returncode == 0, done.stderr
    assert "Licence: ISC" in done.stdout
    assert "Million Song Dataset" in done.stdout
    assert f"analyses {N_SONGS} songs with musicnn" in run("encoders", "add", "musicnn").stdout
    assert states(run)["musicnn"] == (True, True, 0)
    done = run("scan", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert states(run)["musicnn"] == (True, True, N_SONGS)
    assert "All songs are analysed with musicnn" in run("encoders", "add", "musicnn").stdout
    (tmp_path / "encoders" / "musicnn.npz").unlink()
    done = run("encoders", "list")
    assert "used, not installed" in done.stdout
    assert "deleted" in run("encoders", "remove", "musicnn").stdout
    assert states(run)["musicnn"] == (False, False, 0)


def test_a_library_from_another_computer_says_what_to_install(run, music, library, tmp_path, monkeypatch):
    run("encoders", "install", "musicnn", "--from", musicnn_wheel(tmp_path, monkeypatch))
    run("encoders", "add", "musicnn")
    (tmp_path / "encoders" / "musicnn.npz").unlink()
    done = run("scan")
    assert done.returncode == 2
    assert "Run: nearsong encoders install musicnn" in done.stderr


def test_an_onnx_network_is_installed_and_used(run, tmp_path):
    (tmp_path / "linear.onnx").write_bytes(linear_network(np.ones((8, 5)), 20))
    facts = (
        'name = "linear"\nmodel = "linear.onnx"\nlicence = "CC0"\ninput = "mel"\nsample_rate = 16000\npatch = 20\n'
    )
    (tmp_path / "linear.toml").write_text(f"{facts}[mel]\nbands = 8\n")
    assert "--from FILE.toml" in run("encoders", "install", "onnx").stderr
    done = run("encoders", "install", "onnx", "--from", tmp_path / "linear.toml")
    assert "linear, 5 numbers a song" in done.stdout
    assert "Licence: CC0" in done.stdout
    assert f"analyses {N_SONGS} songs" in run("encoders", "add", "onnx").stdout
    assert run("scan", "--workers", "1").returncode == 0
    assert states(run)["onnx"] == (True, True, N_SONGS)


def test_vectors_are_looked_up_by_path(run, music, library, tmp_path):
    keys = [str(music / "song 0.flac"), "song 1.flac", "elsewhere.mp3"]
    np.savez(tmp_path / "clap.npz", path=np.array(keys), vectors=np.arange(6.0).reshape(3, 2))
    done = run("encoders", "add", "vectors", tmp_path / "clap.npz")
    assert done.returncode == 0, done.stderr
    assert f"2 songs have a vector of 2 numbers, of {N_SONGS} songs." in done.stdout
    assert "1 vector without a song, such as 'elsewhere.mp3'" in done.stdout
    with Library.open(library) as lib:
        store = lib._store
        ((ids, vectors),) = store.songs.vectors([store.models.scanned_encoders()["vectors"]])
        paths = {song.id: song.path for song in lib.songs()}
    found = {paths[song]: vector for song, vector in zip(ids.tolist(), vectors, strict=True)}
    np.testing.assert_array_equal(found[str(music / "song 0.flac")], [0, 1])
    np.testing.assert_array_equal(found[str(music / "song 1.flac")], [2, 3])
    assert np.isnan(found[str(music / "song 3.flac")]).all()
    np.savez(tmp_path / "clap.npz", path=np.array(keys), vectors=np.ones((3, 5)))  # another length replaces it
    assert "of 5 numbers" in run("encoders", "add", "vectors", tmp_path / "clap.npz").stdout
    assert states(run)["vectors"] == (False, True, N_SONGS)
    assert run("scan").returncode == 0
    assert "deleted" in run("encoders", "remove", "vectors").stdout


def test_vectors_are_looked_up_by_content(run, music, tmp_path):
    from nearsong.library.files.find import content_key

    keys = [content_key(music / f"song {i}.flac") for i in range(3)]
    np.savez(tmp_path / "clap.npz", content=np.array(keys), vectors=np.ones((3, 2)))
    assert "3 songs have a vector" in run("encoders", "add", "vectors", tmp_path / "clap.npz").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["add", "nonesuch"], "Unknown encoder: 'nonesuch'"),
        (["add", "vectors"], "needs a file. Run: nearsong encoders add vectors FILE"),
        (["add", "gaussian", "file.npz"], "reads no file"),
        (["install", "gaussian"], "is part of nearsong. To use it: nearsong encoders add gaussian"),
        (["install", "vectors"], "needs no installation"),
        (["install", "musicnn", "--from", "nothing.whl"], "nothing.whl is not the wheel of musicnn==0.1.0 (No such"),
        (["remove", "musicnn"], "does not use the encoder musicnn"),
        (["remove", "gaussian"], "only encoder. Add another first"),
    ],
)
def test_what_cannot_be_done_is_one_line(run, words, message):
    done = run("encoders", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_table_without_any_song_of_the_library_gives_examples(run, tmp_path):
    np.savez(tmp_path / "clap.npz", path=np.array(["x.mp3", "y.mp3"]), vectors=np.ones((2, 3)))
    done = run("encoders", "add", "vectors", tmp_path / "clap.npz")
    assert done.returncode == 2
    assert "None of the 2 vectors belongs to a song: the keys are such as 'x.mp3', 'y.mp3'" in done.stderr
    assert "song 0.flac" in done.stderr


def test_an_encoder_that_learns_from_the_library_is_fitted_when_it_is_added(run):
    assert f"analyses {N_SONGS} songs with texture" in run("encoders", "add", "texture").stdout
    assert states(run)["texture"] == (True, True, 0)
