"""Fields of a table -> the numbers of users and track names in blocks; each distinct name is looked up once."""

import numpy as np

from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.tables.dictionaries import ByteDictionary, Codes, PairDictionary
from nearsong.listens.tables.rows import Rows

_TRACK_ROLES = ("artist", "title", "recording_mbid", "artist_mbid")


def names_of_table(slots: dict[str, int], builder: BlockBuilder) -> "TableNames":
    """Return the names of a table; those of the table before it in a zip, if that has the same columns."""
    last = builder.table_names
    if not isinstance(last, TableNames) or last.slots != slots:
        last = builder.table_names = TableNames(slots, builder)
    return last


class TableNames:
    """The users and tracks of a table.

    Parameters
    ----------
    slots : dict of str to int
        Role -> which of the needed fields it is.
    builder : BlockBuilder
        Gives the numbers.
    """

    def __init__(self, slots: dict[str, int], builder: BlockBuilder) -> None:
        self.slots = slots
        self._builder = builder
        self._user_slot = slots.get("user")
        self._roles = [role for role in _TRACK_ROLES if role in slots]
        self._slots = [slots[role] for role in self._roles]
        self._numbering = -1
        self._users = ByteDictionary()
        self._user_numbers = np.empty(0, np.int32)
        self._texts: list[ByteDictionary] = []
        self._strings: list[list[str]] = []
        self._pairs: list[PairDictionary] = []
        self._item_numbers = np.empty(0, np.int32)

    def users(self, rows: Rows) -> Codes | None:
        """Return the number of each row's user; None if the table names none."""
        if self._numbering != self._builder.numbering:
            self._begin()
        if self._user_slot is None:
            return None
        codes = self._users.codes(rows.data, rows.starts[self._user_slot], rows.ends[self._user_slot])
        n = len(self._user_numbers)
        if len(self._users) > n:
            new = self._builder.user_numbers(self._users.texts(n))
            self._user_numbers = np.append(self._user_numbers, new)
        return self._user_numbers[codes]

    def items(self, rows: Rows) -> Codes:
        """Return the number of each row's track name."""
        if self._numbering != self._builder.numbering:
            self._begin()
        data = rows.data
        codes = [
            texts.codes(data, rows.starts[slot], rows.ends[slot])
            for texts, slot in zip(self._texts, self._slots, strict=True)
        ]
        for texts, strings in zip(self._texts, self._strings, strict=True):
            if len(texts) > len(strings):
                strings.extend(texts.texts(len(strings)))
        item, n_items = codes[0], len(self._texts[0])
        for pairs, more in zip(self._pairs, codes[1:], strict=True):
            item, n_items = pairs.codes(item, more), len(pairs)
        n = len(self._item_numbers)
        if n_items > n:
            new = self._builder.track_numbers(self._keys(np.arange(n, n_items, dtype=np.int32)))
            self._item_numbers = np.append(self._item_numbers, new)
        return self._item_numbers[item]

    def _begin(self) -> None:
        """Forget all names, as the builder did."""
        self._numbering = self._builder.numbering
        self._users = ByteDictionary()
        self._user_numbers = np.empty(0, np.int32)
        self._texts = [ByteDictionary() for _ in self._roles]
        self._strings = [[] for _ in self._roles]
        self._pairs = [PairDictionary() for _ in self._roles[1:]]
        self._item_numbers = np.empty(0, np.int32)

    def _keys(self, items: Codes) -> list[tuple[str, str, str, str]]:
        """Return artist, title and MBIDs of new items."""
        columns: dict[str, list[str]] = {role: [""] * len(items) for role in _TRACK_ROLES}
        for role, strings, pairs in zip(
            self._roles[:0:-1], self._strings[:0:-1], self._pairs[::-1], strict=True
        ):  # the last pair first: its first half is a pair again
            items, codes = pairs.pairs(items)
            columns[role] = [strings[code] for code in codes.tolist()]
        columns["artist"] = [self._strings[0][code] for code in items.tolist()]
        return list(zip(*(columns[role] for role in _TRACK_ROLES), strict=True))
