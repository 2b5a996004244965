"""What the service is told when it starts -> settings that can work, or one line that says why not."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from nearsong.errors import InvalidInputError
from nearsong.validation import check_count

TOKEN_VARIABLE = "NEARSONG_TOKEN"
FEWEST_CHARACTERS = 12
PORT = 8337


@dataclass(frozen=True)
class ServeSettings:
    """How to serve.

    Attributes
    ----------
    host : str
        The address to listen on. One that others can reach needs a token.
    port : int
        0 for any that is free.
    token : str or None
        What a caller must show.
    host_names : tuple of str
        Further names under which the service is called, behind a proxy say.
    upload_megabytes : int
        The largest file that may be sent.
    upload_minutes : float
        The longest sound that is heard of it.
    upload_seconds : float
        The longest that hearing a file may take.
    receive_seconds : float
        The longest that sending a file may take.
    uploads_per_minute, jobs_per_hour : int
        For each address that asks.
    keep : Path or None
        Folder in which a file that was sent may be kept, if that is asked for; None if none may.
    plays : bool
        Whether to keep what is played, to learn from it.
    secure_cookie : bool
        Whether the cookie is for HTTPS alone.
    verbose : bool
        Whether to print a line for each request.
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
    keep: Path | None = None
    plays: bool = True
    secure_cookie: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        if not self.host.strip("[] "):
            raise InvalidInputError("the host is empty; give 127.0.0.1, or 0.0.0.0 for all addresses.")
        check_count(self.port, "port", minimum=0)
        if self.port > 65_535:
            raise InvalidInputError(f"{self.port} is no port; choose one from 1024 to 65535, or 0 for any.")
        check_count(self.upload_megabytes, "upload_megabytes")
        if self.token is not None:
            _check_token(self.token)
        elif not self.is_loopback:
            raise InvalidInputError(
                f"{self.host} can be reached by others, so a token is needed: give {FEWEST_CHARACTERS} or more "
                f"characters with --token or {TOKEN_VARIABLE}, or listen on 127.0.0.1."
            )
        elif self.host_names:
            raise InvalidInputError(
                f"--host-name lets others in, so a token is needed: give {FEWEST_CHARACTERS} or more characters "
                f"with --token or {TOKEN_VARIABLE}."
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host.lower() == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def may_add_folders(self) -> bool:
        """Whether the page may scan new folders: only where nobody but this machine's user can ask."""
        return self.is_loopback and not self.host_names


def _check_token(token: str) -> None:
    if len(token) < FEWEST_CHARACTERS:
        raise InvalidInputError(
            f"the token has {len(token)} characters, which can be guessed; give {FEWEST_CHARACTERS} or more, such as "
            "those of `openssl rand -hex 16`."
        )
    if not (token.isascii() and token.isprintable()) or token != token.strip():
        raise InvalidInputError(
            "the token has characters that cannot stand in a header; use letters, digits and - or _."
        )
