import json

import pytest

from command_line import run_nearsong
from nearsong.cli.experiment import _decades, _numbers, _words
from nearsong.errors import InvalidInputError
from nearsong.experiment import make_dataset
from nearsong.experiment.methods.registry import METHODS


def nearsong(*arguments, code=0):
    done = run_nearsong(*arguments)
    assert done.returncode == code, done.stderr
    return done


def test_lists_and_ranges_are_read():
    assert _decades("1e-2:1e9") == tuple(10.0**power for power in range(-2, 10))
    assert _decades("1,30,1e4") == (1.0, 30.0, 1e4)
    assert _decades(None) is None
    assert _numbers("256, 512", "--codebooks", int) == (256, 512)
    assert _words("auc,ndcg ,") == ("auc", "ndcg")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1e2:x", "is not a range; write 1e-2:1e9"),
        ("1e3:1e1", "runs backwards"),
        ("-1:5", "is not a range"),
        ("a,b", "is not a list of numbers"),
    ],
)
def test_ranges_that_cannot_be_read_are_refused(text, message):
    with pytest.raises(InvalidInputError, match=message):
        _decades(text)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    make_dataset(folder / "data", n_artists=60, n_users=400, content="vectors", n_tags=12, seed=3)
    options = ["--quick", "--splits", 2, "--C", "1,100", "--min-listeners", 25, "--relevant", 4, "--jobs", 1]
    done = nearsong("experiment", "run", folder / "data", "--out", folder / "run", *options)
    return folder, options, done


def test_an_experiment_runs_and_names_the_next_command(run):
    folder, _, done = run
    settings = json.loads((folder / "run" / "run.json").read_text())["settings"]
    assert (settings["n_splits"], settings["Cs"], settings["losses"]) == (2, [1.0, 100.0], ["auc"])
    assert (folder / "run" / "results.jsonl").stat().st_size
    assert "Skipped native_ppk" in done.stderr
    assert "experiment: 0 of 22" in done.stderr
    assert "experiment: 22 of 22" in done.stderr
    assert f"nearsong experiment report {folder / 'run'}" in done.stderr.replace("\n", "")


def test_a_run_with_other_settings_is_refused_with_their_names(run):
    folder, options, _ = run
    done = nearsong("experiment", "run", folder / "data", "--out", folder / "run", *options, "--seed", 7, code=2)
    assert "holds a run with other settings (seed); choose another --out." in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--codebooks", "many"], "is not a list of numbers; write 256,512"),
        (["--losses", "hinge"], "losses='hinge' is unknown"),
        (["--methods", "magic"], "methods='magic' is unknown"),
        (["--min-listeners", "99999"], "lower --min-listeners"),
    ],
)
def test_bad_options_are_one_line(run, tmp_path, options, message):
    folder, _, _ = run
    done = nearsong("experiment", "run", folder / "data", "--out", tmp_path / "other", *options, code=2)
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_methods_are_those_of_the_registry():
    listed = nearsong("experiment", "methods").stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(METHODS)


def test_a_folder_without_data_is_one_line(tmp_path):
    done = nearsong("experiment", "run", tmp_path, "--out", tmp_path / "run", code=2)
    assert "has no songs.csv" in done.stderr
