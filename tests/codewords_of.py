"""The codewords of a library, the encoder that every new one has."""

from nearsong.library.store import Store


def codewords_of(store: Store) -> int | None:
    """Return the id of the encoder; None before the first scan."""
    return store.models.scanned_encoders().get("codewords")
