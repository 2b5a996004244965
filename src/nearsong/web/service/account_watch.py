"""Accounts in the library -> who may send requests now; a thread of its own looks for changes by other processes."""

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from nearsong.errors import NearsongError
from nearsong.library import Library
from nearsong.web.http.authentication import Authentication
from nearsong.web.http.callers import Callers
from nearsong.web.http.stored_sessions import sessions_of
from nearsong.web.settings import ServeSettings

if TYPE_CHECKING:
    from nearsong.library import SharedState

log = logging.getLogger("nearsong.web")

POLL_SECONDS = 1.0
"""How often to check whether accounts have changed."""

CLOSE_SECONDS = 5.0
"""How long a check may still take at shutdown."""


class AccountWatch:
    """Knows who may send requests.

    A service that has seen an account stays closed to those without a token, also when the last account goes: that
    listener would otherwise leave it open to everybody.

    Parameters
    ----------
    library : Library
    settings : ServeSettings

    Attributes
    ----------
    current : Callers
    on_gone : callable
        Called with the name of a listener whose account is gone.
    """

    def __init__(self, library: Library, settings: ServeSettings) -> None:
        self._library, self._settings = library, settings
        self.on_gone: Callable[[str], None] = lambda _name: None
        self._had_accounts = False
        self._reading = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.current = self._read()

    def refresh(self) -> None:
        """Read the accounts anew; one that was added, changed or removed counts from now on."""
        with self._reading:  # so that nobody puts back what they have read earlier
            before = self.current.listeners
            self.current = self._read()
        for gone in before - self.current.listeners:
            self.on_gone(gone)

    def _read(self) -> Callers:
        accounts = self._library.accounts.list()
        self._had_accounts |= bool(accounts)
        can_be_open = self._settings.is_for_this_machine and not self._had_accounts
        return Callers(self._settings.token, accounts, can_be_open=can_be_open)

    def start(self) -> None:
        """Start to look for changes, unless that has been started."""
        if self._thread is not None:
            return
        self._stop.clear()
        self._thread = threading.Thread(target=self._watch, name="nearsong-accounts", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Look no longer."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)
            self._thread = None

    def _watch(self) -> None:
        was_wrong = False
        while not self._stop.wait(POLL_SECONDS):
            try:
                self.refresh()
                was_wrong = False
            except NearsongError as error:  # the library may be back a second later
                if not was_wrong:
                    log.warning("the accounts of listeners could not be read: %s", error)
                was_wrong = True


def authentication_of(
    accounts: AccountWatch, settings: ServeSettings, shared: "SharedState | None"
) -> Authentication:
    """Return what finds out who sends a request, by accounts and by sessions that are shared where others share."""
    return Authentication(
        lambda: accounts.current,
        secure=settings.secure_cookie,
        sessions=sessions_of(shared),
        refresh=None if shared is None else accounts.refresh,
    )
