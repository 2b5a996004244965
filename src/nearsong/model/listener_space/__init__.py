"""The listener space: phi of songs + who listens to whom -> embeddings where listeners would put the songs."""

from nearsong.model.listener_space.blocks import BlockSlice
from nearsong.model.listener_space.estimator import ListenerSpace

__all__ = ["BlockSlice", "ListenerSpace"]
