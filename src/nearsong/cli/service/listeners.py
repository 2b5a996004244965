"""``nearsong listeners``: who may log in to the service, and everything that is stored about them."""

from pathlib import Path
from typing import Annotated

import typer

from nearsong.cli.common import (
    LibraryOption,
    cell,
    confirmed,
    format_date,
    open_library,
    output,
    plain_table,
    print_line,
)

Name = Annotated[str, typer.Argument(help="Name of the listener.")]

listeners = typer.Typer(
    help="Give listeners accounts of their own; export or delete all about one.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@listeners.command(name="list")
def list_(library: LibraryOption = None) -> None:
    """List the listeners who have an account.

    For example: nearsong listeners list
    """
    with open_library(library) as lib:
        accounts = lib.accounts.list()
    console = output()
    if not accounts:
        print_line(
            console, "No listener has an account, so nobody logs in. Add one: nearsong listeners add NAME --admin"
        )
        return
    table = plain_table("name", "admin", "players", "added")
    for account in accounts:
        table.add_row(
            cell(account.name),
            "yes" if account.is_admin else "",
            "app password" if account.app_password else "",
            format_date(account.created),
        )
    console.print(table)
    if not any(account.is_admin for account in accounts):
        print_line(console, "None of them is an admin. Make one: nearsong listeners admin NAME")


@listeners.command()
def add(
    name: Name,
    admin: Annotated[bool, typer.Option("--admin", help="May change the library and see what others play.")] = False,
    library: LibraryOption = None,
) -> None:
    """Give a listener an account, and print the token to log in with.

    What was played, hearted or imported under this name before is theirs. As soon as one listener has an account,
    everybody has to log in, on this computer too.

    For example: nearsong listeners add anna --admin
    """
    with open_library(library, create=True) as lib:
        token = lib.accounts.add(name, is_admin=admin)
        first = len(lib.accounts.list()) == 1
    console = output()
    print_line(console, f"Token of {name}, shown this once: {token}")
    print_line(console, "It logs in to the page and to ListenBrainz clients, and is an API key.")
    print_line(console, f"Subsonic and Last.fm players need a password: nearsong listeners app-password {name}")
    if first:
        print_line(console, "From now on the page asks everybody for a token.")


@listeners.command()
def token(name: Name, library: LibraryOption = None) -> None:
    """Replace the token of a listener, and print the new one.

    The earlier one stops working, and the browsers that logged in with it are logged out.

    For example: nearsong listeners token anna
    """
    with open_library(library) as lib:
        new = lib.accounts.renew_token(name)
    print_line(output(), f"Token of {name}, shown this once: {new}")


@listeners.command(name="app-password")
def app_password(
    name: Name,
    remove: Annotated[bool, typer.Option("--remove", help="Remove it: players cannot connect any more.")] = False,
    library: LibraryOption = None,
) -> None:
    """Give a listener a new password for Subsonic and Last.fm players, and print it.

    These players send a hash that can only be checked by who knows the password, so it is stored as it is. It does
    not open the page.

    For example: nearsong listeners app-password anna
    """
    with open_library(library) as lib:
        if remove:
            lib.accounts.remove_app_password(name)
            print_line(output(), f"App password of {name} removed.")
            return
        password = lib.accounts.renew_app_password(name)
    print_line(output(), f"App password of {name}: {password}")


@listeners.command()
def admin(
    name: Name,
    no: Annotated[bool, typer.Option("--no", help="No longer an admin.")] = False,
    library: LibraryOption = None,
) -> None:
    """Make a listener an admin.

    For example: nearsong listeners admin anna
    """
    with open_library(library) as lib:
        lib.accounts.set_admin(name, not no)
    print_line(output(), f"{name} is {'no longer' if no else 'now'} an admin.")


@listeners.command()
def export(
    name: Name,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The zip file to write, such as anna.zip.")],
    library: LibraryOption = None,
) -> None:
    """Export everything about a listener: plays, hearts, ratings, skips, histories, playlists, queue.

    `nearsong listens import` reads the file, in this library or another.

    For example: nearsong listeners export anna anna.zip
    """
    with open_library(library) as lib:
        lib.play_log.update_history()
        lib.accounts.write_everything(name, path)
    print_line(output(), f"Written: {path}")


@listeners.command()
def remove(
    name: Name,
    keep_listens: Annotated[
        bool, typer.Option("--keep-listens", help="Remove the account only; what was played stays.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    library: LibraryOption = None,
) -> None:
    """Delete everything about a listener: account, plays, hearts, ratings, skips, histories, playlists, queue.

    It cannot be undone; `nearsong listeners export` keeps a copy. Models that learned from it stay until the next
    training.

    For example: nearsong listeners remove anna
    """
    what = "the account" if keep_listens else "everything"
    option = " --keep-listens" if keep_listens else ""
    with open_library(library) as lib:
        if not yes and not confirmed(f"Delete {what} of {name}?", f"nearsong listeners remove {name}{option} --yes"):
            print_line(output(), "Nothing was deleted.")
            return
        if keep_listens:
            lib.accounts.remove(name)
            words = f"The account of {name} is removed; what was played stays."
        else:
            words = lib.accounts.delete_everything(name)
    print_line(output(), words)
