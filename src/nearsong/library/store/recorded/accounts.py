"""Listeners who log in: the table `accounts`."""

import time
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from nearsong.errors import InvalidInputError
from nearsong.library.store.database import Database
from nearsong.library.store.schema import accounts
from nearsong.library.store.text import key_of
from nearsong.names import listener_key


@dataclass(frozen=True)
class Account:
    """A listener who logs in.

    Attributes
    ----------
    name : str
        Name of the listener.
    is_admin : bool
        Whether they may do everything, for others too.
    token_hash : bytes
        SHA-256 of the token.
    app_password : str
        The password of their players; empty if there is none.
    created : float
        Seconds since 1970.
    """

    name: str
    is_admin: bool
    token_hash: bytes = field(repr=False)
    app_password: str = field(repr=False)
    created: float


class AccountTable:
    """Reads and writes accounts; names are compared without regard to case."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Account]:
        """Return all accounts, the oldest first."""
        query = sa.select(accounts).order_by(accounts.c.created, accounts.c.name)
        with self._database.reading() as connection:
            return [
                Account(row.name, row.is_admin, row.token_hash, row.app_password, row.created)
                for row in connection.execute(query)
            ]

    def add(self, name: str, token_hash: bytes, *, is_admin: bool) -> None:
        """Store a new account; raises an `InvalidInputError` if there is one of this name."""
        row = {"key": account_key(name), "name": name, "is_admin": is_admin, "token_hash": token_hash}
        with self._database.writing() as connection:
            same = connection.execute(sa.select(accounts.c.name).where(accounts.c.key == account_key(name))).scalar()
            if same is not None:
                raise InvalidInputError(f"the listener {same!r} exists already; choose another name.")
            connection.execute(accounts.insert(), {**row, "app_password": "", "created": time.time()})

    def change(self, name: str, **columns: Any) -> None:
        """Change columns of an account."""
        with self._database.writing() as connection:
            changed = connection.execute(
                accounts.update().where(accounts.c.key == account_key(name)), columns
            ).rowcount
            if not changed:
                raise _unknown(name)

    def remove(self, name: str) -> None:
        """Delete an account; what its listener did stays."""
        with self._database.writing() as connection:
            if not connection.execute(accounts.delete().where(accounts.c.key == account_key(name))).rowcount:
                raise _unknown(name)


def account_key(name: str) -> bytes:
    """Return the key of a name, without regard to case."""
    return key_of(listener_key(name).encode())


def _unknown(name: str) -> InvalidInputError:
    return InvalidInputError(f"no listener is called {name!r}; see `nearsong listeners list`.")
