"""Listeners -> accounts: who may log in, with which token, and with which password of a player.

Tokens are random, shown once and stored as hashes. Players that speak Subsonic or Last.fm send a hash of a password
with a salt of their own, which can be checked only by who knows the password. So these have an *app password*, which
is random too, is stored as it is, and is good for nothing but playing and telling plays.
"""

import base64
import hashlib
import os
import secrets
from typing import IO

from nearsong.errors import InvalidInputError
from nearsong.library.accounts.find_listener import find_listener, others_in_words
from nearsong.library.listeners.recorded.plays import checked_listener
from nearsong.library.store import Account, Store
from nearsong.listens.records import DEFAULT_USER
from nearsong.names import listener_key

TOKEN_BYTES = 32
APP_PASSWORD_BYTES = 15
"""120 bits, in 24 letters and digits that a person can type on a phone."""


class Accounts:
    """Adds, changes and removes accounts.

    All methods raise an `InvalidInputError` for a name that nobody has.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def list(self) -> list[Account]:
        """Return all accounts, the oldest first."""
        return self._store.accounts.all()

    def add(self, name: str, *, is_admin: bool = False) -> str:
        """Add an account and return its token, which cannot be read again.

        Parameters
        ----------
        name : str
            Name of the listener; plays, hearts and histories of this name are theirs.
        is_admin : bool, default=False

        Raises
        ------
        InvalidInputError
            If there is an account of this name, or the name cannot be one.
        """
        checked = checked_listener(name)
        if listener_key(checked) == DEFAULT_USER:
            raise InvalidInputError(f"{DEFAULT_USER!r} is the listener without an account; choose another name.")
        if checked.startswith("-") or "/" in checked or not checked.strip("."):
            raise InvalidInputError(f"{checked!r} reads as an option or a path; choose another name.")
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self._store.accounts.add(checked, token_hash(token), is_admin=is_admin)
        return token

    def renew_token(self, name: str) -> str:
        """Replace the token of an account, which ends its sessions; return the new one."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self._store.accounts.change(checked_listener(name), token_hash=token_hash(token))
        return token

    def renew_app_password(self, name: str) -> str:
        """Give an account a new password for players; return it."""
        password = base32(secrets.token_bytes(APP_PASSWORD_BYTES))
        self._store.accounts.change(checked_listener(name), app_password=password)
        return password

    def remove_app_password(self, name: str) -> None:
        """Remove the password for players; they cannot connect any more."""
        self._store.accounts.change(checked_listener(name), app_password="")

    def set_admin(self, name: str, is_admin: bool) -> None:
        """Make an account that of an admin, or no longer."""
        self._store.accounts.change(checked_listener(name), is_admin=is_admin)

    def remove(self, name: str) -> None:
        """Remove an account; what its listener played stays."""
        self._store.accounts.remove(checked_listener(name))

    def find(self, name: str) -> str:
        """Return the name of a listener, with an account or without, as it is stored; ``me`` is always one.

        Raises
        ------
        InvalidInputError
            If nothing is known of a listener of this name; names that are nearly the same are suggested.
        """
        return find_listener(name, self._store.listener_rows.names())

    def others_in_words(self, name: str) -> str:
        """Return whom to ask for instead of a listener of whom nothing is known."""
        return others_in_words(name, self._store.listener_rows.names())

    def write_everything(self, listener: str, target: str | os.PathLike[str] | IO[bytes]) -> None:
        """Write a zip of everything that is stored about a listener, with an account or without.

        Plays that are not yet a history are left out; :meth:`PlayLog.update_history` makes one of them.
        """
        from nearsong.library.accounts.person import write_everything  # loads all that reads histories

        write_everything(self._store, checked_listener(listener), target)

    def delete_everything(self, listener: str) -> str:
        """Delete everything that is stored about a listener, the account too; return what that was, in words."""
        from nearsong.library.accounts.person import delete_listener, deleted_words

        return f"Deleted: {deleted_words(delete_listener(self._store, checked_listener(listener)))}."


def token_hash(token: str) -> bytes:
    """Return the hash by which a token is stored; one without salt will do, since tokens cannot be guessed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def base32(data: bytes) -> str:
    """Return bytes in letters and digits that are hard to confuse.

    >>> base32(bytes(5)), len(base32(bytes(range(15))))
    ('aaaaaaaa', 24)
    """
    return base64.b32encode(data).decode().lower()
