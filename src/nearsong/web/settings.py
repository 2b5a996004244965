"""Options of the service -> checked settings, or an error that says what to change."""

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path

from nearsong.errors import InvalidInputError
from nearsong.names import count
from nearsong.validation import check_count

TOKEN_VARIABLE = "NEARSONG_TOKEN"
MIN_TOKEN_CHARACTERS = 32
"""Characters of a token of 128 bits, if each may be one of 16, as in hexadecimal numbers."""

MIN_TOKEN_DIGITS = 39
"""The same for a token of decimal digits only."""

MIN_DIFFERENT_CHARACTERS = 6
DRIVE_FOLDERS = ("/media/{user}", "/run/media/{user}", "/mnt", "/Volumes")
"""Where systems show connected drives."""

LOCAL_PROXIES = ("127.0.0.1", "::1")
PORT = 8337
PLAIN_CLIENTS = ("Clementine",)
"""Players that show no song if an album has other children, as OpenSubsonic's have."""


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
    automatic : bool
        Whether to scan, pull and train without being asked, as the library's settings say.
    secure_cookie : bool
        Whether the cookie is for HTTPS alone.
    verbose : bool
        Whether to log each request.
    trusted_proxies : tuple of str
        Addresses and networks of proxies whose X-Forwarded-For and X-Forwarded-Proto count.
    plain_clients : tuple of str
        Names of players, as they send them, that cannot read what OpenSubsonic has added to their protocol.
    has_accounts : bool
        Whether listeners have accounts, so that a token of the service is not needed.
    allowed_folders : tuple of Path
        Folders within which admins may choose folders to scan; by default those of :attr:`folder_roots`.
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
    automatic: bool = False
    secure_cookie: bool = False
    verbose: bool = False
    trusted_proxies: tuple[str, ...] = ()
    plain_clients: tuple[str, ...] = PLAIN_CLIENTS
    has_accounts: bool = False
    allowed_folders: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if not self.host.strip("[] "):
            raise InvalidInputError("the host is empty; use 127.0.0.1, or 0.0.0.0 for all addresses.")
        check_count(self.port, "port", minimum=0)
        if self.port > 65_535:
            raise InvalidInputError(
                f"{self.port} is not a port; choose one from 1024 to 65535, or 0 for any free one."
            )
        check_count(self.upload_megabytes, "upload_megabytes")
        for proxy in self.trusted_proxies:
            _networks_of(proxy)
        for folder in self.allowed_folders:
            if not folder.expanduser().is_dir():
                raise InvalidInputError(f"Folder not found: {folder}. Give --allow-folder one that exists.")
        if self.token is not None:
            _check_token(self.token)
        elif (reason := self._why_reachable()) is not None and not self.has_accounts:
            raise InvalidInputError(
                f"{reason}, so a token is needed: set {MIN_TOKEN_CHARACTERS} or more characters with --token or "
                f"{TOKEN_VARIABLE}, add listeners with `nearsong listeners add`"
                + ("." if self.is_loopback else ", or listen on 127.0.0.1.")
            )

    def _why_reachable(self) -> str | None:
        """Return why others can connect; None if they cannot."""
        if not self.is_loopback:
            return f"{self.host} can be reached by others"
        if self.host_names:
            return "--host-name lets others connect"
        return "--trusted-proxy lets others connect" if self.trusted_proxies else None

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
    def is_for_this_machine(self) -> bool:
        """Whether nobody but this machine's users can connect; then clients may scan new folders, too."""
        return self._why_reachable() is None

    @property
    def may_scan_anywhere(self) -> bool:
        """Whether admins may name any folder: on this machine alone, unless folders were allowed one by one."""
        return self.is_for_this_machine and not self.allowed_folders

    @property
    def folder_roots(self) -> tuple[str, ...]:
        """The folders within which admins may choose some to scan, without links, sorted.

        Those that were allowed; where nobody else can connect, by default the home folder and where drives are.
        """
        if self.allowed_folders:
            return tuple(sorted({os.path.realpath(folder.expanduser()) for folder in self.allowed_folders}))
        if not self.is_for_this_machine:
            return ()
        home = os.path.expanduser("~")
        drives = [folder.format(user=os.path.basename(home)) for folder in DRIVE_FOLDERS]
        usual = {os.path.realpath(folder) for folder in (home, *drives) if os.path.isdir(folder)}
        return tuple(sorted(usual - {os.path.realpath(os.sep)}))

    @property
    def proxies(self) -> tuple[str, ...]:
        """The networks of trusted proxies: those given, or with another host name one on this machine."""
        given = self.trusted_proxies or (LOCAL_PROXIES if self.host_names else ())
        return tuple(str(network) for proxy in given for network in _networks_of(proxy))


def _networks_of(proxy: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Return the network of a proxy; one of IPv4 also in the form that it has on an IPv6 socket."""
    try:
        network = ipaddress.ip_network(proxy)
    except ValueError:
        raise InvalidInputError(
            f"{proxy} is not an address or a network; give --trusted-proxy one such as 10.0.0.2 or 10.0.0.0/8."
        ) from None
    if isinstance(network, ipaddress.IPv6Network):
        return [network]
    return [network, ipaddress.IPv6Network(f"::ffff:{network.network_address}/{96 + network.prefixlen}")]


def _check_token(token: str) -> None:
    """Refuse a token that could be guessed, or that a header cannot hold."""
    n_different, weakness = len(set(token)), None
    if len(token) < MIN_TOKEN_CHARACTERS:
        weakness = f"has {len(token)} characters"
    elif token.isdecimal() and len(token) < MIN_TOKEN_DIGITS:
        weakness = f"has {len(token)} digits"
    elif n_different < MIN_DIFFERENT_CHARACTERS:
        weakness = f"repeats {count(n_different, 'character')}"
    if weakness is not None:
        raise InvalidInputError(
            f"the token {weakness} and could be guessed; use {MIN_TOKEN_CHARACTERS} or more random letters and "
            "digits, as in the output of `openssl rand -hex 32`."
        )
    if not (token.isascii() and token.isprintable()) or token != token.strip():
        raise InvalidInputError(
            "the token has characters that are not allowed in a header; use letters, digits, - and _."
        )
