"""The names of all listeners -> the one that somebody means, or whom to ask for instead."""

import difflib
from collections.abc import Sequence

from nearsong.errors import InvalidInputError
from nearsong.listens.records import DEFAULT_USER
from nearsong.names import count, listener_key

NAMED_LISTENERS = 3
"""So many are named to somebody who may ask for one of them."""


def find_listener(name: str, known: Sequence[str]) -> str:
    """Return the name of a listener as it is stored; ``me`` is always one.

    Raises an `InvalidInputError` if nothing is known of a listener of this name; names that are nearly the same are
    suggested.
    """
    if name in known or name == DEFAULT_USER:
        return name
    key, names = listener_key(name), {listener_key(one): one for one in known}
    if key in names:
        return names[key]
    near = difflib.get_close_matches(key, [one for one in names if abs(len(one) - len(key)) <= 2], 3, 0.7)
    also = " or ".join(names[one] for one in near)
    hint = f"did you mean {also}?" if near else others_in_words(name, known)
    raise InvalidInputError(f"nothing is known of a listener called {name!r}; {hint}")


def others_in_words(name: str, known: Sequence[str]) -> str:
    """Return whom to ask for instead of a listener of whom nothing is known."""
    others = [one for one in known if one != name]
    if not others:
        return "import a listening history, or play some songs."
    named = " or ".join(others[:NAMED_LISTENERS])
    also = f"such as {named}" if len(others) > NAMED_LISTENERS else named
    return f"this library has {count(len(others), 'other listener')}: ask for one of them, {also}, or love songs."
