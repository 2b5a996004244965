"""Options of the service -> checked settings, or an error that says what to change."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from nearsong.errors import InvalidInputError
from nearsong.validation import check_count

TOKEN_VARIABLE = "NEARSONG_TOKEN"
MIN_TOKEN_CHARACTERS = 12
PORT = 8337


@dataclass(frozen=True)
class ServeSettings:
    """Settings of the service.

    Attributes
    ----------
    host : str
        Address to listen on. One that others can reach needs a token.
    port : int
        0 for any free one.
    token : str or None
        The secret that clients must send.
    host_names : tuple of str
        Further names of the service, such as behind a proxy.
    upload_megabytes : int
        Largest upload.
    upload_minutes : float
        Longest audio that is analysed of an upload.
    upload_seconds : float
        Longest analysis of an upload.
    receive_seconds : float
        Longest transfer of an upload.
    uploads_per_minute, jobs_per_hour : int
        Limits for each client address.
    save_uploads : Path or None
        Folder for uploads that users want to save; None if they cannot.
    plays : bool
        Whether to record plays, to learn from them.
    secure_cookie : bool
        Whether the cookie is for HTTPS alone.
    verbose : bool
        Whether to log each request.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    token: str | None = None
    host_names: tuple[str, ...] = ()
    upload_megabytes: int = 200
    upload_minutes: float = 30.0
    upload_seconds: float = 60.0
    receive_seconds: float = 120.0
    uploads_per_minute: int = 30
    jobs_per_hour: int = 30
    save_uploads: Path | None = None
    plays: bool = True
    secure_cookie: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        if not self.host.strip("[] "):
            raise InvalidInputError("the host is empty; use 127.0.0.1, or 0.0.0.0 for all addresses.")
        check_count(self.port, "port", minimum=0)
        if self.port > 65_535:
            raise InvalidInputError(
                f"{self.port} is not a port; choose one from 1024 to 65535, or 0 for any free one."
            )
        check_count(self.upload_megabytes, "upload_megabytes")
        if self.token is not None:
            _check_token(self.token)
        elif not self.is_loopback:
            raise InvalidInputError(
                f"{self.host} can be reached by others, so a token is needed: set {MIN_TOKEN_CHARACTERS} or more "
                f"characters with --token or {TOKEN_VARIABLE}, or listen on 127.0.0.1."
            )
        elif self.host_names:
            raise InvalidInputError(
                f"--host-name lets others connect, so a token is needed: set {MIN_TOKEN_CHARACTERS} or more "
                f"characters with --token or {TOKEN_VARIABLE}."
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        if self.host.lower() == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def can_add_folders(self) -> bool:
        """Whether clients may scan new folders: only if nobody but this machine's users can connect."""
        return self.is_loopback and not self.host_names


def _check_token(token: str) -> None:
    if len(token) < MIN_TOKEN_CHARACTERS:
        raise InvalidInputError(
            f"the token has {len(token)} characters and could be guessed; use {MIN_TOKEN_CHARACTERS} or more, as in "
            "the output of `openssl rand -hex 16`."
        )
    if not (token.isascii() and token.isprintable()) or token != token.strip():
        raise InvalidInputError(
            "the token has characters that are not allowed in a header; use letters, digits, - and _."
        )
