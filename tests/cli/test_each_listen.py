"""What commands and the page's import say about the same listens through several services: each counts once."""

import json

import pytest

from library_store import put_file
from nearsong.audio.tags import Tags
from nearsong.library import Library
from nearsong.library.store import Store
from nearsong.web.jobs.import_listens import ImportListens
from three_services import LISTENS, SAME_BY_NAME, write_lastfm, write_listenbrainz, write_spotify


class SilentReporter:
    def progress(self, *facts):
        """Ignore how far it is."""

    def note(self, text):
        """Ignore a line."""


def test_import_list_status_and_the_page_count_a_listen_once(nearsong, tmp_path):
    library = tmp_path / "library.sqlite"
    store = Store(library)
    put_file(store, "/a.mp3", tags=Tags("Can", "Vitamin C"), seconds=9.0)
    store.close()
    files = [
        write_lastfm(tmp_path / "lastfm.csv", SAME_BY_NAME),
        write_listenbrainz(tmp_path / "listenbrainz.jsonl", SAME_BY_NAME),
        write_spotify(tmp_path / "Streaming_History_Audio_1.json", SAME_BY_NAME),
    ]
    result = nearsong("listens", "import", *files[:2], library=library)
    assert result.returncode == 0, result.stderr
    assert "30 rows" in result.stdout  # of two files
    assert "33% of 15 plays found in the library" in result.stdout
    assert "Most played: Björk - Jóga (5); Sigur Rós - Hoppípolla (5)." in result.stdout
    assert "33% of 15 plays found" in nearsong("listens", "import", files[2], library=library).stdout
    assert "33% of 15 plays found" in nearsong("listens", "list", library=library).stdout
    assert "15 rows in 3 histories" in nearsong("status", library=library).stdout
    assert json.loads(nearsong("status", "--json", library=library).stdout)["listens"] == 15
    with Library.open(library) as opened:
        assert opened.match_report().plays_unmatched == 10
        more = ImportListens(path=str(write_lastfm(tmp_path / "more.csv", LISTENS)), name="more.csv")
        assert more.run(opened, SilentReporter())["plays"] == 20
        assert opened.status().listens == 20


@pytest.mark.parametrize("same", [True, False])
def test_listens_of_two_people_are_two(nearsong, tmp_path, same):
    library = tmp_path / "library.sqlite"
    nearsong("listens", "import", write_lastfm(tmp_path / "a.csv", LISTENS), "--user", "ann", library=library)
    other = write_spotify(tmp_path / "b.json", LISTENS)
    nearsong("listens", "import", other, "--user", "ann" if same else "bob", library=library)
    n_plays = 20 if same else 40
    assert f"track names is in the library ({n_plays} plays)." in nearsong("listens", "list", library=library).stdout
