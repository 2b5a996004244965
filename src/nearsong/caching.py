"""A method -> a thread-safe cached property.

`functools.cached_property` has no lock from Python 3.12 on, and before that one lock for all objects of a class, so
that loading one object from disk blocked all others.
"""

import threading
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 - it is used as a decorator
    """A property that is computed on first access, by one thread, and then stored; each object has its own lock.

    Examples
    --------
    >>> class Song:
    ...     @cached_property
    ...     def embedding(self) -> list[float]:
    ...         print("computing")
    ...         return [0.5]
    >>> song = Song()
    >>> song.embedding, song.embedding
    computing
    ([0.5], [0.5])
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any]) -> T: ...
    def __get__(self, instance: object | None, owner: type[Any]) -> Self | T:
        if instance is None:
            return self
        attributes = instance.__dict__  # a value in here hides this property from the next access
        lock = attributes.setdefault(f"_{self._name}_lock", threading.RLock())
        with lock:
            if self._name not in attributes:
                attributes[self._name] = self._compute(instance)
            value: T = attributes[self._name]
            return value


def is_cached(instance: object, name: str) -> bool:
    """Return whether a cached property has been computed."""
    return name in instance.__dict__


def copy_cached(source: object, target: object, *names: str) -> None:
    """Copy the computed values of cached properties from one object to another."""
    target.__dict__.update({name: source.__dict__[name] for name in names if is_cached(source, name)})
