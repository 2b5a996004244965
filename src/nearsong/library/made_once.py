"""A thing that is made when first asked for -> made once, however many threads ask at the same time.

`functools.cached_property` makes no such promise from Python 3.12 on, and before that one lock held back all objects
of a class: while one was read from disk, nobody could ask for another.
"""

import threading
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class made_once(Generic[T]):  # noqa: N801 - it is used as a decorator
    """A property that is made when first asked for and then stays; each object has a lock for each of its own.

    Examples
    --------
    >>> class Song:
    ...     @made_once
    ...     def sound(self) -> str:
    ...         print("listening")
    ...         return "ping"
    >>> song = Song()
    >>> song.sound, song.sound
    listening
    ('ping', 'ping')
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, thing: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, thing: object, owner: type[Any]) -> T: ...
    def __get__(self, thing: object | None, owner: type[Any]) -> Self | T:
        if thing is None:
            return self
        kept = thing.__dict__  # what is in there is found before this property is asked again
        lock = kept.setdefault(f"_{self._name} is being made", threading.RLock())
        with lock:
            if self._name not in kept:
                kept[self._name] = self._make(thing)
            found: T = kept[self._name]
            return found


def is_made(thing: object, name: str) -> bool:
    """Say whether a property of this kind has been asked for already."""
    return name in thing.__dict__


def take_over(thing: object, other: object, *names: str) -> None:
    """Give an object what another has made already."""
    thing.__dict__.update({name: other.__dict__[name] for name in names if is_made(other, name)})
