"""What holds for every format of the registry: known by its content, every row accounted for, of the user named."""

import gzip
import hashlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from listens.format_examples import EXAMPLES
from nearsong.errors import ListensError
from nearsong.listens import DEFAULT_USER, FORMATS, RowCounts, open_histories
from nearsong.listens.detection import KINDS
from nearsong.listens.formats.registry import LISTEN_FORMATS
from nearsong.listens.listen_file import ListenFile

ARTISTS = ["Björk", "Múm", "Sigur Rós", "The & Band"]
SECONDARY = {name: format.name for format in LISTEN_FORMATS.values() for name in format.also}

names = st.text("abcÄöß日é!& '", min_size=1, max_size=8).map(str.strip).filter(bool)
every_format = pytest.mark.parametrize("name", FORMATS)


@pytest.fixture
def example(tmp_path):
    """Write the example of a format under a neutral name; return its path and the number of its rows."""

    def example(name, artists=ARTISTS, packed=False, file_name="history"):
        pytest.importorskip("pyarrow.parquet") if name == "parquet" else None
        return write_example(tmp_path, name, artists, packed, file_name)

    return example


def write_example(folder, name, artists, packed=False, file_name="history"):
    content, n_rows = EXAMPLES[name].make(artists)
    for companion, make in EXAMPLES[name].companions.items():
        (folder / companion).write_bytes(make(artists))
    path = folder / file_name
    path.write_bytes(gzip.compress(content) if packed else content)
    return path, n_rows


def history_of(path, name):
    return next(history for history in open_histories(path) if history.format == name)


def users_of(history, **options):
    return {name for block in history.blocks(**options) for name in block.users}


def test_every_format_has_an_example():
    assert set(EXAMPLES) == set(FORMATS)


@every_format
class TestEveryFormat:
    """The axioms of a format."""

    def test_it_says_what_it_is(self, name):
        format = LISTEN_FORMATS[name]
        assert format.name == name
        assert format.kind in KINDS or (format.kind == "" and format.columns is not None)
        assert all(LISTEN_FORMATS[other].kind != format.kind for other in format.also)

    @pytest.mark.parametrize("packed", [False, True])
    def test_it_is_known_by_its_content_whatever_the_file_is_called(self, name, packed, example):
        if packed and not EXAMPLES[name].can_be_packed:
            pytest.skip("its files are packed inside")
        path, _ = example(name, packed=packed)
        histories = open_histories(path)
        assert histories[0].format == SECONDARY.get(name, name)
        assert name in [history.format for history in histories]
        assert len({history.kind for history in histories}) == len(histories)

    def test_it_finds_the_artists(self, name, example):
        path, _ = example(name)
        found = {track.artist for block in history_of(path, name).blocks() for track in block.tracks}
        assert found & set(ARTISTS) == (set(ARTISTS[:1]) if name == "navidrome-listens" else set(ARTISTS))

    def test_it_reads_the_same_when_the_format_is_named(self, name, example):
        path, _ = example(name)
        kind = history_of(path, name).kind
        assert [(h.format, h.kind) for h in open_histories(path, name)] == [(name, kind)]

    def test_it_leaves_the_file_and_its_folder_as_they_are(self, name, example, tmp_path):
        path, _ = example(name)
        path.chmod(0o444)
        before = {file.name: hashlib.sha256(file.read_bytes()).digest() for file in tmp_path.iterdir()}
        list(history_of(path, name).blocks())
        assert {file.name: hashlib.sha256(file.read_bytes()).digest() for file in tmp_path.iterdir()} == before

    def test_all_rows_are_of_the_user_who_is_named(self, name, example):
        path, _ = example(name)
        history = history_of(path, name)
        if history.kind == "playlists":
            assert users_of(history, user="zoe") == users_of(history) != {"zoe"}
        else:
            assert users_of(history, user="zoe") == {"zoe"}
            assert users_of(history) <= {DEFAULT_USER, "ann", "2", "user_1"}

    def test_a_file_that_is_cut_is_read_in_part_or_refused_in_one_line(self, name, example):
        path, _ = example(name)
        content = path.read_bytes()
        for share in (0.3, 0.6, 0.95):
            path.write_bytes(content[: int(len(content) * share)])
            message = ""
            try:
                list(ListenFile(path, name, "events").blocks())
            except ListensError as error:
                message = str(error)
            assert "\n" not in message

    @given(artists=st.lists(names, min_size=6, max_size=12))
    @settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_rows_read_left_out_and_unreadable_are_all_rows_of_the_file(self, name, artists, tmp_path):
        if name == "parquet":
            pytest.importorskip("pyarrow.parquet")
        path, n_rows = write_example(tmp_path, name, artists)
        counts, reported = RowCounts(), []
        history = next(history for history in open_histories(path, name))
        n_read = sum(len(block) for block in history.blocks(reported.append, counts=counts))
        assert counts.read == n_read
        assert counts.bad == len(reported)
        assert counts.total == n_rows
