"""``nearsong listeners``: accounts, and everything about a listener."""

import re

import pytest

from nearsong.library import Library, token_hash


@pytest.fixture
def library(tmp_path):
    return tmp_path / "library.sqlite"


def accounts(library):
    with Library.open(library) as lib:
        return {account.name: account for account in lib.accounts.list()}


def secret(done) -> str:
    return re.search(r": (\S+)$", done.stdout.splitlines()[0])[1]


def test_listeners_are_added_listed_and_changed(nearsong, library):
    empty = nearsong("listeners", "list", library=library) if library.exists() else None
    assert empty is None
    done = nearsong("listeners", "add", "Anna", "--admin", library=library)
    assert done.returncode == 0, done.stderr
    assert "From now on the page asks everybody for a token." in done.stdout
    assert accounts(library)["Anna"].token_hash == token_hash(secret(done))
    nearsong("listeners", "add", "ben", library=library)
    password = secret(nearsong("listeners", "app-password", "ben", library=library))
    assert accounts(library)["ben"].app_password == password
    listed = nearsong("listeners", "list", library=library).stdout
    assert re.search(r"Anna +yes +\d{4}", listed)
    assert re.search(r"ben +app password +\d{4}", listed)
    renewed = secret(nearsong("listeners", "token", "anna", library=library))
    assert accounts(library)["Anna"].token_hash == token_hash(renewed)
    assert "ben is now an admin." in nearsong("listeners", "admin", "ben", library=library).stdout
    nearsong("listeners", "admin", "Anna", "--no", library=library)
    nearsong("listeners", "admin", "ben", "--no", library=library)
    assert "None of them is an admin." in nearsong("listeners", "list", library=library).stdout
    nearsong("listeners", "app-password", "ben", "--remove", library=library)
    assert accounts(library)["ben"].app_password == ""


def test_what_cannot_be_is_refused_in_one_line(nearsong, library):
    nearsong("listeners", "add", "anna", library=library)
    for words, expected in (
        (("add", "ANNA"), "'anna' exists already"),
        (("token", "ben"), "no listener is called 'ben'; see `nearsong listeners list`."),
        (("remove", "anna"), "nearsong listeners remove anna --yes"),
        (("add", "me"), "without an account"),
    ):
        done = nearsong("listeners", *words, library=library)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert expected in done.stderr
    assert list(accounts(library)) == ["anna"]


def test_everything_about_a_listener_is_exported_and_deleted(nearsong, library, tmp_path):
    table = "artist,title,time\n" + "".join(f"Can,Song {n},{1_700_000_000 + 400 * n}\n" for n in range(5))
    (tmp_path / "plays.csv").write_text(table)
    for user in ("anna", "ben"):
        nearsong("listens", "import", tmp_path / "plays.csv", "--user", user, library=library)
        nearsong("listeners", "add", user, library=library)
    done = nearsong("listeners", "export", "anna", tmp_path / "anna.zip", library=library)
    assert done.returncode == 0, done.stderr
    done = nearsong("listeners", "remove", "anna", "--yes", library=library)
    assert done.returncode == 0, done.stderr
    assert "5" in done.stdout
    assert list(accounts(library)) == ["ben"]
    listed = nearsong("listens", "list", library=library).stdout
    assert "5 plays" in listed
    other = tmp_path / "other.sqlite"
    assert nearsong("listens", "import", tmp_path / "anna.zip", library=other).returncode == 0
    assert "5 plays" in nearsong("listens", "list", library=other).stdout
    done = nearsong("listeners", "remove", "ben", "--keep-listens", "--yes", library=library)
    assert "what was played stays" in done.stdout
    assert "5 plays" in nearsong("listens", "list", library=library).stdout
