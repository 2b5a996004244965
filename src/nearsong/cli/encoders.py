"""``nearsong encoders``: what songs are described by, and encoders that are installed or brought by the user."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearsong.cli.common import JsonOption, LibraryOption, open_library, output, plain_table, print_json, print_line
from nearsong.cli.progress import show_progress
from nearsong.errors import InvalidInputError, LibraryError
from nearsong.names import count

if TYPE_CHECKING:
    from nearsong.library import EncoderStatus

Name = Annotated[str, typer.Argument(help="Encoder, such as musicnn; see `nearsong encoders list`.")]

encoders = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")


@encoders.callback()
def _encoders() -> None:
    """List, install, add and remove encoders: what songs are described by.

    Some are part of nearsong, others are installed first.

    For example:

        nearsong encoders list
        nearsong encoders install musicnn
        nearsong encoders add musicnn
        nearsong encoders add vectors clap.parquet
    """


@encoders.command("list")
def list_(json: JsonOption = False, library: LibraryOption = None) -> None:
    """List all encoders, what they cost, and how many songs are analysed with them.

    For example: nearsong encoders list
    """
    statuses = _statuses(library)
    if json:
        print_json([vars(status) for status in statuses])
        return
    numbers = ("numbers", "CPU s/h", "songs")
    table = plain_table(
        "encoder", "state", *numbers, "licence", "what it does", right=numbers, uncut=("encoder", "state")
    )
    for status in statuses:
        n_dimensions = "" if status.n_dimensions is None else f"{status.n_dimensions:,}"
        songs = f"{status.songs:,}" if status.songs else ""
        cells = [n_dimensions, f"{status.cost:g}", songs, status.licence, status.summary]
        table.add_row(status.name, _state(status), *cells)
    console = output()
    console.print(table)
    print_line(
        console, "numbers: length of a song's vector. CPU s/h: seconds for an hour of music, beside decoding it."
    )


def _statuses(library: str | None) -> "list[EncoderStatus]":
    from nearsong.library import list_encoders

    try:
        with open_library(library) as lib:
            return lib.encoders()
    except LibraryError:
        if library is not None:
            raise
        return list_encoders(None)  # no library yet


def _state(status: "EncoderStatus") -> str:
    if status.is_used:
        return "used" if status.is_installed or status.name == "vectors" else "used, not installed"
    if status.name == "vectors":
        return "needs a file"
    return "available" if status.is_installed else "not installed"


@encoders.command()
def install(
    name: Name,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="File to install from: a wheel of musicnn, or the TOML file of an ONNX network."),
    ] = None,
) -> None:
    """Install the weights of an optional encoder on this computer.

    `musicnn` is taken out of its package on PyPI (29 MB to download, 3 MB to store); TensorFlow is not needed. `onnx`
    is a network of yours, described by a small TOML file.

    For example:

        nearsong encoders install musicnn
        nearsong encoders install musicnn --from musicnn-0.1.0-py3-none-any.whl
        nearsong encoders install onnx --from my-network.toml
    """
    from nearsong.model.encoders import OPTIONAL_ENCODERS, check_encoder_names

    check_encoder_names([name])
    if name not in OPTIONAL_ENCODERS:
        raise InvalidInputError(f"The encoder {name} is part of nearsong. To use it: nearsong encoders add {name}")
    if name == "vectors":
        raise InvalidInputError("The encoder vectors needs no installation. Run: nearsong encoders add vectors FILE")
    if name == "onnx":
        _install_onnx(source)
    else:
        _install_musicnn(source)
    print_line(output(), f"Next: nearsong encoders add {name}, then nearsong scan")


def _install_onnx(source: Path | None) -> None:
    from nearsong.model.encoders.pretrained.onnx import INSTALL_COMMAND, install_onnx

    if source is None:
        raise InvalidInputError(f"The encoder onnx needs a description of your network. Run: {INSTALL_COMMAND}")
    encoder = install_onnx(source)
    description = encoder.description
    print_line(output(), f"Installed: {description.name}, {encoder.n_dimensions:,} numbers a song.")
    print_line(output(), f"Licence: {description.licence}.")


def _install_musicnn(source: Path | None) -> None:
    from nearsong.model.encoders.pretrained import musicnn_weights

    console = output()
    if source is None:
        print_line(console, f"Downloading {musicnn_weights.REQUIREMENT} from PyPI (29 MB) ...")
    path = musicnn_weights.install_musicnn(source)
    print_line(console, f"Installed: {path} ({path.stat().st_size / 1e6:.1f} MB).")
    print_line(console, f"Licence: {musicnn_weights.LICENCE}.")
    print_line(console, f"Trained on: {musicnn_weights.TRAINING_DATA}.")


@encoders.command()
def add(
    name: Name,
    file: Annotated[Path | None, typer.Argument(help="Table of vectors (.parquet, .npz), for `vectors`.")] = None,
    library: LibraryOption = None,
) -> None:
    """Use one more encoder in this library, from the next scan on.

    `vectors` looks up vectors that you computed elsewhere, by path, MBID or content; run it again after a scan.

    For example:

        nearsong encoders add musicnn
        nearsong encoders add vectors clap.parquet
    """
    if name == "vectors":
        _add_vectors(file, library)
        return
    if file is not None:
        raise InvalidInputError(f"The encoder {name} reads no file; leave {file} out.")
    with open_library(library) as lib, show_progress("songs") as progress:
        n_songs = lib.add_encoder(name, progress)
    if n_songs:
        print_line(output(), f"The next scan analyses {count(n_songs, 'song')} with {name}. Run: nearsong scan")
    else:
        print_line(output(), f"All songs are analysed with {name}.")


def _add_vectors(file: Path | None, library: str | None) -> None:
    if file is None:
        raise InvalidInputError("The encoder vectors needs a file. Run: nearsong encoders add vectors FILE")
    with open_library(library) as lib:
        report = lib.add_vectors(file)
    console = output()
    matched = count(report.matched, "song has", "songs have")
    print_line(console, f"{matched} a vector of {report.n_dimensions:,} numbers, of {count(report.songs, 'song')}.")
    if report.examples:
        others = count(max(report.vectors - report.matched, len(report.examples)), "vector")
        examples = ", ".join(repr(key) for key in report.examples)
        print_line(console, f"{others} without a song, such as {examples}.")


@encoders.command()
def remove(name: Name, library: LibraryOption = None) -> None:
    """Stop using an encoder in this library and delete its vectors.

    For example: nearsong encoders remove musicnn
    """
    with open_library(library) as lib:
        is_free = lib.remove_encoder(name)
    if is_free:
        print_line(output(), f"{name} is no longer used; its vectors are deleted.")
    else:
        print_line(
            output(),
            f"{name} is no longer used. A model in use needs its vectors; the next `nearsong scan` deletes them.",
        )
