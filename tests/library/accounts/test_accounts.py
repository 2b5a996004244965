"""Accounts of listeners: tokens are random, shown once and stored as hashes."""

import pytest

from nearsong.errors import InvalidInputError
from nearsong.library import Library, token_hash


@pytest.fixture
def library(tmp_path):
    with Library.open(tmp_path / "library.sqlite") as library:
        yield library


def stored(library) -> bytes:
    """All bytes of the database, its journal among them."""
    folder = library.address.rsplit("/", 1)[0]
    from pathlib import Path

    return b"".join(file.read_bytes() for file in Path(folder).glob("library.sqlite*"))


def test_a_token_is_stored_as_a_hash_and_an_app_password_as_it_is(library):
    token = library.accounts.add("Anna", is_admin=True)
    password = library.accounts.renew_app_password("anna")
    (account,) = library.accounts.list()
    assert (account.name, account.is_admin, account.app_password) == ("Anna", True, password)
    assert account.token_hash == token_hash(token)
    assert token.encode() not in stored(library)
    assert password.encode() in stored(library)  # the documentation says so


def test_secrets_have_the_bits_that_they_claim(library):
    tokens = {library.accounts.add("anna"), *(library.accounts.renew_token("anna") for _ in range(20))}
    passwords = {library.accounts.renew_app_password("anna") for _ in range(20)}
    assert len(tokens) == 21
    assert len(passwords) == 20
    assert all(len(token) >= 43 for token in tokens)  # 256 bits in base 64
    assert all(len(password) == 24 and password.isalnum() for password in passwords)  # 120 bits in base 32


def test_a_name_is_taken_once_whatever_its_case(library):
    library.accounts.add("Zoë")
    with pytest.raises(InvalidInputError, match="'Zoë' exists already"):
        library.accounts.add("ZOË")
    library.accounts.add("Zoe")
    assert [account.name for account in library.accounts.list()] == ["Zoë", "Zoe"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "1 to 200 characters"),
        (" \x07 ", "1 to 200"),
        ("x" * 201, "got 201"),
        ("ME", "without an account"),
        ("--yes", "option"),
        ("a/b", "path"),
        ("..", "path"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(library, name, words):
    with pytest.raises(InvalidInputError, match=words):
        library.accounts.add(name)
    assert library.accounts.list() == []


@pytest.mark.parametrize("change", ["renew_token", "renew_app_password", "remove_app_password", "remove"])
def test_a_name_that_nobody_has_is_refused(library, change):
    library.accounts.add("anna")
    with pytest.raises(InvalidInputError, match="no listener is called 'bert'; see `nearsong listeners list`"):
        getattr(library.accounts, change)("bert")
    with pytest.raises(InvalidInputError, match="no listener is called 'bert'"):
        library.accounts.set_admin("bert", True)


def test_an_account_can_be_removed_while_its_plays_stay(library):
    library.accounts.add("anna")
    library.accounts.set_admin("ANNA", True)
    assert library.accounts.list()[0].is_admin
    library.accounts.remove("Anna")
    assert library.accounts.list() == []
