"""The commands -> `release/nearsong.1`, the man page of the wheel: `python release/man_page.py`."""

import inspect
import re
from pathlib import Path
from typing import Any

import typer

from nearsong import __version__
from nearsong.cli import app
from nearsong.cli.operation.config_file import CONFIG_VARIABLE
from nearsong.cli.operation.option_names import all_commands, subcommands
from nearsong.library.store import ENVIRONMENT
from nearsong.web.settings import TOKEN_VARIABLE

PAGE = Path(__file__).with_name("nearsong.1")


VARIABLES = {
    ENVIRONMENT: "The library, as --library.",
    CONFIG_VARIABLE: "The config file, as --config.",
    TOKEN_VARIABLE: "The token of nearsong serve, as --token.",
    "NEARSONG_COMMAND_OPTION": "Any option of any command: NEARSONG_SERVE_PORT is --port of nearsong serve. Values "
    "of a repeatable option are separated by semicolons.",
}
COMPLETION = {
    "nearsong --install-completion": "Install completion for the shell that runs it: bash, zsh or fish.",
    "nearsong --show-completion": "Print what it would install.",
}
FILES = {
    "~/.config/nearsong/nearsong.toml": "Options of all commands; nearsong config shows what applies.",
    "~/.local/share/nearsong/library.sqlite": "The library, unless another is chosen.",
}


def man_page() -> str:
    """Return the page, in the macros of man(7)."""
    root = typer.main.get_command(app)
    lines = [
        f'.TH NEARSONG 1 "" "nearsong {__version__}" "User Commands"',
        ".SH NAME",
        r"nearsong \- find similar music, learned from listeners",
        ".SH SYNOPSIS",
        r"\fBnearsong\fR [\fIOPTIONS\fR] \fICOMMAND\fR [\fIARGUMENTS\fR]",
        ".SH DESCRIPTION",
        *paragraphs(root.help or ""),
        ".SH OPTIONS",
        *parameters(root),
        ".SH COMMANDS",
    ]
    for path, command in all_commands(root):
        if path:
            lines += command_lines(path, command)
    lines += [
        ".SH SHELL COMPLETION",
        *entries(COMPLETION),
        ".SH ENVIRONMENT",
        *entries(VARIABLES),
        ".SH FILES",
        *entries(FILES),
    ]
    return "\n".join(lines) + "\n"


def entries(words: dict[str, str]) -> list[str]:
    """Return names, each with its text below it."""
    return [line for name, text in words.items() for line in (".TP", rf"\fB{escaped(name)}\fR", escaped(text))]


def command_lines(path: tuple[str, ...], command: Any) -> list[str]:
    """Return the section of one command."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    names = [str(one.metavar or one.name).upper() for one in arguments]
    below = [r"\fICOMMAND\fR"] if subcommands(command) else []
    usage = [*(rf"\fI{escaped(name)}\fR" for name in names), *below]
    title = escaped(" ".join(path))
    return [
        f'.SS "{title}"',
        " ".join([rf"\fBnearsong {title}\fR", r"[\fIOPTIONS\fR]", *usage]),
        ".PP",
        *paragraphs(command.help or ""),
        *parameters(command),
    ]


def parameters(command: Any) -> list[str]:
    """Return arguments and options, each with its help."""
    lines = []
    for one in command.params:
        if getattr(one, "hidden", False) or not one.expose_value:  # completion has a section of its own
            continue
        if one.param_type_name == "argument":
            lines += [".TP", rf"\fI{escaped(str(one.metavar or one.name).upper())}\fR", escaped(one.help or "")]
            continue
        names = ", ".join(rf"\fB{escaped(name)}\fR" for name in [*one.opts, *one.secondary_opts])
        value = "" if one.is_flag else rf" \fI{escaped(str(one.metavar or 'VALUE'))}\fR"
        default = "" if one.is_flag or one.default in (None, "") else f" Default: {one.default}."
        lines += [".TP", names + value, escaped((one.help or "") + default)]
    return lines


def paragraphs(text: str) -> list[str]:
    """Return a help text; lines that are set in are examples."""
    lines: list[str] = []
    for block in inspect.cleandoc(text).split("\n\n"):
        rows = block.splitlines()
        if not rows:
            continue
        if rows[0].startswith("    "):
            lines += [".PP", ".nf", ".RS", *(escaped(row.strip()) for row in rows), ".RE", ".fi"]
        else:
            lines += [".PP", *(escaped(row) for row in rows)]
    return lines[1:] if lines[:1] == [".PP"] else lines


def escaped(text: str) -> str:
    """Return a text that troff prints as it is, without the marks of Markdown."""
    plain = re.sub(r"`([^`]*)`", r"\1", " ".join(text.split()))
    plain = plain.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain


if __name__ == "__main__":
    PAGE.write_text(man_page(), encoding="utf-8")
