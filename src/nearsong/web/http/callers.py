"""A token, a session or a password -> who sends a request.

Without a token and without accounts anybody who can connect may do everything, under any name; then only this machine
can connect. With the token of the service a caller may do everything too. An account is a listener: its caller acts
under that name, and under others only as an admin.
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field

from nearsong.library import DEFAULT_USER, Account, token_hash
from nearsong.names import listener_key
from nearsong.web.http.problems import ApiError


@dataclass(frozen=True)
class Caller:
    """Who sends a request.

    Attributes
    ----------
    listener : str or None
        The listener whose account it is; None if it may be anybody.
    is_admin : bool
        Whether they may change the library and see what others play.
    credential : str
        A hash of what they showed; empty if nothing was needed.
    names : mapping of str to str
        The names of all accounts by :func:`nearsong.names.listener_key`.
    """

    listener: str | None
    is_admin: bool
    credential: str = field(default="", compare=False, repr=False)
    names: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def owner(self) -> str:
        """The owner of playlists that the caller saves; empty for all listeners together."""
        return self.listener or ""

    def acts_as(self, name: str) -> str:
        """Return the listener for whom a request acts that names one, or `DEFAULT_USER` for its own.

        Raises
        ------
        ApiError
            403 if it is another listener, and the caller no admin.
        """
        key = listener_key(name)
        if self.listener is None:
            return self.names.get(key, name) or DEFAULT_USER
        if key in ("", DEFAULT_USER) or key == listener_key(self.listener):
            return self.listener
        if not self.is_admin:
            raise ApiError(403, "only an admin may see or change what others play.", "not-allowed")
        return self.names.get(key, name)

    def check_admin(self) -> None:
        """Raise problem 403 unless the caller is an admin."""
        if not self.is_admin:
            raise ApiError(403, "only an admin may do this; ask one, or log in as one.", "not-allowed")

    def may_see(self, owner: str) -> bool:
        """Say whether a playlist of an owner is the caller's, or everybody's."""
        return self.listener is None or owner in ("", self.listener)

    def may_change(self, owner: str) -> bool:
        """Say whether the caller may change a playlist of an owner; one of all listeners only as an admin."""
        return self.listener is None or owner == self.listener or (owner == "" and self.is_admin)


ANYBODY = Caller(None, is_admin=True)
"""A caller without a token where none is needed."""


class Callers:
    """Who may send requests at a moment.

    Parameters
    ----------
    token : str or None
        The token of the service.
    accounts : sequence of Account
    can_be_open : bool
        Whether everybody may enter if there is neither a token nor an account.

    Examples
    --------
    >>> anna = Account("Anna", True, token_hash("hers"), "sesame", 0.0)
    >>> callers = Callers("secret", [anna], can_be_open=False)
    >>> callers.with_token("hers"), callers.with_token("secret") == ANYBODY, callers.with_token("other")
    (Caller(listener='Anna', is_admin=True), True, None)
    >>> callers.with_password("anna", lambda password: password == "sesame")
    Caller(listener='Anna', is_admin=False)
    """

    def __init__(self, token: str | None, accounts: Sequence[Account], *, can_be_open: bool) -> None:
        self._accounts = {listener_key(account.name): account for account in accounts}
        self._names = {key: account.name for key, account in self._accounts.items()}
        self._token = token
        self._of_credential: dict[str, Caller] = {}
        for account in accounts:
            self._add(account.name, account.is_admin, account.token_hash.hex())
            if account.app_password:  # stored in clear, and in players: it is no admin's
                self._add(account.name, False, _password_credential(account.app_password))
        if token is not None:
            self._add(None, True, credential_of(token))
        self.has_accounts = bool(accounts)
        self.is_open = can_be_open and token is None and not accounts

    def _add(self, listener: str | None, is_admin: bool, credential: str) -> None:
        self._of_credential[credential] = Caller(listener, is_admin, credential, self._names)

    @property
    def listeners(self) -> frozenset[str]:
        """The names of all accounts."""
        return frozenset(self._names.values())

    def with_token(self, text: str) -> Caller | None:
        """Return the caller with a token; looked up by its hash, so that time tells nothing about other tokens."""
        return self._of_credential.get(credential_of(text))

    def with_credential(self, credential: str) -> Caller | None:
        """Return the caller who showed a credential before; None if it has been replaced since."""
        if credential == "":
            return ANYBODY if self.is_open else None
        return self._of_credential.get(credential)

    def with_password(self, user: str, is_right: Callable[[str], bool]) -> Caller | None:
        """Return the caller of a user name and a password that can be checked only against the right one."""
        account = self._accounts.get(listener_key(user))
        if account is not None and account.app_password and is_right(account.app_password):
            return self._of_credential[_password_credential(account.app_password)]
        return self.with_token(self._token) if self._token is not None and is_right(self._token) else None

    def passwords(self) -> list[tuple[str, Caller]]:
        """Return all passwords that can be checked, each with its caller."""
        known = [account.app_password for account in self._accounts.values() if account.app_password]
        found = [(password, self._of_credential[_password_credential(password)]) for password in known]
        if self._token is not None:
            found.append((self._token, self._of_credential[credential_of(self._token)]))
        return found


def credential_of(token: str) -> str:
    """Return what a session remembers of the token that it was started with."""
    return token_hash(token).hex()


def _password_credential(password: str) -> str:
    return "app password " + hashlib.sha256(password.encode()).hexdigest()


def is_same(sent: str, right: str) -> bool:
    """Say whether two texts are the same, in constant time."""
    return hmac.compare_digest(sent.encode("utf-8", "surrogatepass"), right.encode("utf-8", "surrogatepass"))


_current: ContextVar[Caller] = ContextVar("caller")


def remember_caller(caller: Caller) -> None:
    """Note who sends the request that is being answered."""
    _current.set(caller)


def check_caller(callers: Callers) -> Caller:
    """Return who sends the request that is being answered, as of now.

    A body may take a while to arrive, and a write to begin: until then an account may have been changed or removed,
    or the first one added.

    Raises
    ------
    ApiError
        401 if what they showed is no longer valid.
    """
    caller = callers.with_credential(_current.get().credential)
    if caller is None:
        raise ApiError(401, "this token is no longer valid; log in again.", "token-needed")
    return caller
