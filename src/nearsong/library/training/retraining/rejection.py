"""A library -> the state in which a training was rejected, so that advice to train returns with more data."""

from typing import TYPE_CHECKING

from nearsong.library.store.light.records import PLAYED
from nearsong.library.store.light.store import LightStore

if TYPE_CHECKING:
    from nearsong.library.store import Store


def rejection_state(store: "LightStore | Store") -> str:
    """Return a text that changes when there is more data: it contains the histories and the number of songs.

    The history of recorded plays grows constantly; it changes the text only when its size has doubled.
    """
    histories = [
        f"played {history.rows.bit_length()}" if history.format == PLAYED else history.id
        for history in store.listens.histories()
    ]
    return f"{histories} {store.songs.counts()['songs']}"
