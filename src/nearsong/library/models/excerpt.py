"""A library -> how much of each song its scans analyse."""

from nearsong.library.store import Store
from nearsong.model.file_format import load_bytes

NO_FRAMES = "none"
"""Name of the features of encoders that do not read sound."""


def library_excerpt(store: Store) -> float:
    """Return how many seconds from the middle of each song scans analyse; 0 for complete songs."""
    for encoder_id in store.models.scanned_encoders().values():
        facts = load_bytes(store.models.encoder(encoder_id), lambda header, _: header["encoder"])
        members = facts["parameters"].get("encoders", [facts])  # of several encoders as one
        for member in members:
            if member["features"]["name"] != NO_FRAMES:
                return float(member.get("excerpt", 0.0))
    return 0.0
