"""A library -> how much of each song its scans analyse."""

from typing import TYPE_CHECKING

from nearsong.library.store.light.store import LightStore
from nearsong.model.file_header import header_in

if TYPE_CHECKING:
    from nearsong.library.store import Store

NO_FRAMES = "none"
"""Name of the features of encoders that do not read sound."""


def library_excerpt(store: "LightStore | Store") -> float:
    """Return how many seconds from the middle of each song scans analyse; 0 for complete songs."""
    for encoder_id in store.models.scanned_encoders().values():
        facts = header_in(store.models.encoder(encoder_id))["encoder"]
        members = facts["parameters"].get("encoders", [facts])  # of several encoders as one
        for member in members:
            if member["features"]["name"] != NO_FRAMES:
                return float(member.get("excerpt", 0.0))
    return 0.0
