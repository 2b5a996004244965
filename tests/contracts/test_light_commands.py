"""Light commands start at once: they load neither SQLAlchemy nor compilers, learners, decoders or a service."""

import subprocess
import sys

import pytest

from nearsong.library import Library
from planted_library import write_library

LEARNERS = ("sklearn", "scipy", "numba", "av", "soundfile", "rapidfuzz", "pebble", "fastapi", "uvicorn", "pydantic")
STORES = ("sqlalchemy", "asyncio", "mutagen")
ARRAYS = ("numpy",)
COLOURS = ("rich",)

RUN = """
import sys
from nearsong.cli import main
try:
    main()
except SystemExit:
    pass
print("loaded", *(name for name in {heavy!r} if name in sys.modules))
"""


def loaded(folder, *command: str, of: tuple[str, ...]) -> str:
    """Return which of some libraries a command loads in a folder with a library, and what it printed before."""
    return run(folder, *command, of=of)[0]


def run(folder, *command: str, of: tuple[str, ...]) -> tuple[str, str]:
    """Return which of some libraries a command loads, and its errors."""
    code = RUN.format(heavy=of)
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, cwd=folder, check=True
    )
    return done.stdout.splitlines()[-1].removeprefix("loaded").strip(), done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with an empty library."""
    folder = tmp_path_factory.mktemp("light")
    Library.open(folder / "library.sqlite").close()
    return folder


def test_the_command_line_itself_loads_only_what_reads_options():
    code = "import sys, nearsong.cli; print([m for m in sys.modules if m.startswith('nearsong.')], *sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    own, others = printed.split("]")
    start = {"cli", "cli.common", "cli.start", "cli.start.command_group", "cli.start.conversion"}
    options = {f"cli.operation{name}" for name in ("", ".config_file", ".defaults", ".option_names")}
    loaded_here = {name.strip(" '[").removeprefix("nearsong.") for name in own.split(",")}
    assert loaded_here <= start | options | {"errors", "lazy_names"}
    assert not set(others.split()) & {*LEARNERS, *STORES, *ARRAYS, *COLOURS}


@pytest.mark.parametrize("command", [["status"], ["status", "--json"], ["models"], ["listens", "list"]], ids=" ".join)
def test_a_command_that_only_shows_something_loads_no_heavy_library(folder, command):
    heavy = LEARNERS + STORES + ARRAYS
    assert loaded(folder, *command, "--library", "library.sqlite", of=heavy) == ""


@pytest.mark.parametrize("command", [["listeners", "list"], ["folders"]], ids=" ".join)
def test_a_command_that_reads_with_the_complete_store_loads_no_learner(folder, command):
    assert loaded(folder, *command, "--library", "library.sqlite", of=LEARNERS) == ""


@pytest.mark.parametrize(
    "command",
    [
        ["status", "--library", "none/library.sqlite"],
        ["models", "use", "1", "--library", "none/library.sqlite"],
        ["similar", "17", "--library", "none/library.sqlite"],
        ["train", "--library", "none/library.sqlite"],
    ],
    ids=" ".join,
)
def test_the_error_that_there_is_no_library_loads_no_heavy_library(folder, command):
    assert loaded(folder, *command, of=LEARNERS[:-1] + STORES + COLOURS) == ""


@pytest.mark.parametrize("command", [["scan", "none"], ["listens", "import", "none.csv"]], ids=" ".join)
def test_the_error_that_there_is_no_such_file_loads_no_heavy_library_and_makes_no_library(tmp_path, command):
    assert loaded(tmp_path, "--library", "new.sqlite", *command, of=LEARNERS[:-1] + STORES + ARRAYS) == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["stats"], ["status", "--nope"], ["similar"]], ids=" ".join)
def test_a_mistyped_command_loads_no_heavy_library(folder, command):
    assert loaded(folder, *command, of=LEARNERS + STORES + ARRAYS) == ""


@pytest.fixture(scope="module")
def songs(tmp_path_factory):
    """Return a folder with a library of 80 songs and the history of a listener."""
    folder = tmp_path_factory.mktemp("songs")
    (folder / "plays.csv").write_text("timestamp,artist,title\n2024-01-01T00:00:00Z,Jazz Band 1,Tune 1\n")
    with Library.open(write_library(folder / "library.sqlite"), create=False) as library:
        library.import_listens(folder / "plays.csv", user="anna")
    return folder


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["similar", "xqzwv"], "no match for 'xqzwv'"),
        (["similar", "99999"], "no match for '99999'"),
        (["similar", "1", "--not", "xqzwv"], "no match for 'xqzwv'"),
        (["playlist", "xqzwv"], "no match for 'xqzwv'"),
        (["playlist", "--from", "1", "--to", "99999"], "no match for '99999'"),
        (["radio", "xqzwv"], "no match for 'xqzwv'"),
        (["radio", "1", "--for", "nobody"], "a listener called 'nobody'"),
        (["why", "1", "99999"], "no match for '99999'"),
        (["for", "nobody"], "a listener called 'nobody'"),
        (["models", "use", "99"], "Model not found: 99"),
        (["models", "remove", "99"], "Model not found: 99"),
        (["models", "compare", "1", "99"], "Model not found: 99"),
        (["export", "model.npz", "--model", "99"], "Model not found: 99"),
        (["listens", "remove", "99"], "listening history not found: 99"),
        (["train", "--splits", "0"], "n_splits=0"),
        (["train", "--unit", "nope"], "unit='nope'"),
        (["train", "--encoders", "nope"], "Unknown encoder: 'nope'. Choose from codewords,"),
        (["evaluate", "--splits", "0"], "n_splits=0"),
        (["serve", "--port", "99999"], "99999 is not a port"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_error_of_a_mistaken_name_id_or_option_loads_only_what_compares_names(songs, command, words):
    heavy = tuple({*LEARNERS, *STORES} - {"rapidfuzz", "pydantic", "mutagen"})  # songs are records of tags
    loads, errors = run(songs, "--library", "library.sqlite", *command, of=heavy)
    assert errors.startswith("nearsong: ")
    assert words in errors
    assert loads == ""


@pytest.mark.parametrize(("command", "word"), [("status", "80 songs by 20 artists"), ("models", "native")])
def test_what_is_shown_of_a_library_with_songs_loads_no_heavy_library(songs, command, word):
    heavy = LEARNERS + STORES + ARRAYS
    code = RUN.format(heavy=heavy)
    words = [sys.executable, "-c", code, "--library", "library.sqlite", command]
    shown, _, loads = subprocess.run(words, capture_output=True, text=True, cwd=songs, check=True).stdout.rpartition(
        "loaded"
    )
    assert word in " ".join(shown.split())
    assert loads.strip() == ""


def test_a_list_of_histories_loads_no_heavy_library_once_it_is_known_how_much_of_them_is_found(songs):
    with Library.open(songs / "library.sqlite", create=False) as library:
        library.match_list()
    code = RUN.format(heavy=LEARNERS + STORES + ARRAYS)
    command = [sys.executable, "-c", code, "--library", "library.sqlite", "listens", "list"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=songs, check=True)
    heading, history, *_, found, loads = done.stdout.splitlines()
    assert heading.split() == ["id", "rows", "found", "whose", "format", "imported", "file"]
    assert history.split()[:4] == ["1", "1", "100%", "anna"]
    assert found == "100% of 1 play found in the library (1 track name: 1 by artist and title)."
    assert loads.strip() == "loaded"


def test_similar_songs_of_a_name_load_no_more_than_those_of_an_id(songs):
    heavy = tuple({*LEARNERS, *STORES} - {"rapidfuzz", "mutagen"})
    assert loaded(songs, "--library", "library.sqlite", "similar", "Jazz Band 1 - Tune 1", of=heavy) == ""


OPENING = """
import http.client, sys, threading
from nearsong.cli import main
from nearsong.errors import LibraryError
from nearsong.web import server
address, serve = [], server.serve
answers = threading.Event()

def load(*_arguments):
    answers.wait()
    for path in ("/", "/static/js/app.js", "/static/css/page.css"):
        connection = http.client.HTTPConnection(address[0].split("/")[2])
        connection.request("GET", path)
        assert connection.getresponse().status == 200
    print("loaded", *(name for name in {heavy!r} if name in sys.modules))
    raise LibraryError("enough.")

def say(text):
    if "runs at" in text:
        address.append(text.split()[-1])
        answers.set()

server._load = load
server.serve = lambda library, settings, **more: serve(library, settings, say=say)
main()
"""


def test_the_page_of_the_service_answers_before_what_learns_decodes_and_describes_the_api_is_loaded(folder):
    heavy = tuple({*LEARNERS} - {"uvicorn", "pydantic"})  # the first serves it, the second converts --port
    options = ["--library", "library.sqlite", "serve", "--port", "0"]
    command = [sys.executable, "-c", OPENING.format(heavy=heavy), *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert (done.stdout, done.stderr) == ("loaded\n", "nearsong: enough.\n")
