"""The address under which phones and other computers reach the service, also as a QR code."""

import ipaddress
import shlex
import socket
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from nearsong.web.api.status import address_for_commands
from nearsong.web.http.origins import host_name
from nearsong.web.http.problems import ApiError, responses
from nearsong.web.media.qr_code import qr_svg
from nearsong.web.service.service import Service, Shared
from nearsong.web.settings import PORT

router = APIRouter(prefix="/connection", tags=["status"])

ANY_ADDRESS = ("0.0.0.0", "::")
TEST_ADDRESS = ("192.0.2.1", 9)
"""An address of nobody (RFC 5737). A datagram socket that is connected to it sends nothing, but has a route."""


class ConnectionOut(BaseModel):
    """Where other devices find the service."""

    address: str | None = Field(
        description="Of the page, and of the server in a player; null if only this machine can."
    )
    words: str = Field(description="What to do with it, or how to open the service to the network.")
    command: str | None = Field(description="What to run instead, if others cannot connect.")


@router.get(
    "",
    response_description="The address.",
    summary="Get the address for phones and players",
    responses=responses(503),
)
def connection(request: Request, service: Shared) -> ConnectionOut:
    """Return the address by which phones and other computers reach the service; it holds no password."""
    address = _address(request, service)
    if address is not None:
        words = "Open this address on a phone, or enter it as the server of a player that speaks Subsonic."
        return ConnectionOut(address=address, words=words, command=None)
    if service.callers.has_accounts:
        words = "Only this computer can reach nearsong. To open it to your network, stop it and start it with:"
        return ConnectionOut(address=None, words=words, command=_serve_command(service))
    words = (
        "Only this computer can reach nearsong. To open it to your network, add a listener, which prints the token "
        "to sign in with, and start it again:"
    )
    command = f"nearsong listeners add NAME --admin{_library_option(service)} && {_serve_command(service)}"
    return ConnectionOut(address=None, words=words, command=command)


@router.get(
    "/qr.svg",
    response_class=Response,
    summary="Get the address for phones as a QR code",
    responses={
        200: {"description": "The code.", "content": {"image/svg+xml": {"schema": {"type": "string"}}}},
        **responses(404, 503),
    },
)
def qr_code(request: Request, service: Shared) -> Any:
    """Return the same address as a QR code; 404 if only this machine can connect."""
    address = _address(request, service)
    if address is None:
        raise ApiError(404, "only this computer can reach nearsong, so there is no address for phones.", "only-here")
    return Response(qr_svg(address), media_type="image/svg+xml", headers={"Cache-Control": "no-store"})


def _serve_command(service: Service) -> str:
    """Return the command that starts the same service for the network."""
    port = service.settings.port
    return f"nearsong serve --host 0.0.0.0{'' if port in (PORT, 0) else f' --port {port}'}{_library_option(service)}"


def _library_option(service: Service) -> str:
    address = address_for_commands(service)
    return "" if address is None else f" --library {shlex.quote(address)}"


def _address(request: Request, service: Service) -> str | None:
    """Return the address as others see it: that of the request, unless it is one of this machine alone."""
    own = host_name(request.headers.get("host", ""))
    if not _is_loopback(own):
        return f"{request.url.scheme}://{request.headers['host']}/"
    settings = service.settings
    if settings.host_names:
        return f"{'https' if settings.secure_cookie else 'http'}://{settings.host_names[0]}/"
    if settings.is_loopback:
        return None
    host = settings.host.strip("[]")
    found = _network_address() if host in ANY_ADDRESS else host
    if found is None:
        return None
    port = request.url.port or settings.port
    return f"http://{f'[{found}]' if ':' in found else found}:{port}/"


def _network_address() -> str | None:
    """Return the address of this machine in its network; None without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(TEST_ADDRESS)
            found = str(probe.getsockname()[0])
        except OSError:
            return None
    return None if _is_loopback(found) or found in ANY_ADDRESS else found


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"
