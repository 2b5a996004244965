"""Every error nearsong raises on purpose, in one tree.

::

    NearsongError
    └── InvalidInputError (also a ValueError)   an argument that cannot work; the message says what to do
        └── NoUsableQueryError                  nothing left to learn from or to score

A message says what came, why it cannot work and what to do, in one line.
"""


class NearsongError(Exception):
    """The root: catch this to catch everything nearsong raises on purpose."""


class InvalidInputError(NearsongError, ValueError):
    """An argument has a shape, a range or a value that cannot work."""


class NoUsableQueryError(InvalidInputError):
    """No query has both a relevant and an irrelevant item."""
