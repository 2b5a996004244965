"""Requests and responses about listeners and their accounts."""

from pydantic import BaseModel, Field

from nearsong.library import Account
from nearsong.web.json.reactions import ListenerName
from nearsong.web.json.schemas import Strict


class ListenerIn(Strict):
    """A listener who gets an account."""

    name: ListenerName
    is_admin: bool = False


class ListenerChangeIn(Strict):
    """What changes about an account."""

    is_admin: bool


class ListenerOut(BaseModel):
    """A listener with an account."""

    name: str
    is_admin: bool = Field(description="Whether they may change the library and see what others play.")
    has_app_password: bool = Field(description="Whether their players can connect.")
    created: float = Field(description="Seconds since 1970.")


class TokenOut(BaseModel):
    """A new token. It is shown once; the service stores a hash of it."""

    name: str
    token: str


class AppPasswordOut(BaseModel):
    """A new password for players."""

    name: str
    app_password: str


class DeletedOut(BaseModel):
    """What was deleted."""

    words: str


def listener_out(account: Account) -> ListenerOut:
    """Return an account as clients see it."""
    return ListenerOut(
        name=account.name,
        is_admin=account.is_admin,
        has_app_password=bool(account.app_password),
        created=account.created,
    )
