"""The listener space: phi of songs + who listens to whom -> embeddings where listeners would put the songs."""

from typing import TYPE_CHECKING

from nearsong.lazy_names import lazy_names

if TYPE_CHECKING:
    from nearsong.model.listener_space.blocks import BlockSlice as BlockSlice
    from nearsong.model.listener_space.estimator import ListenerSpace as ListenerSpace

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "blocks": ["BlockSlice"],
        "estimator": ["ListenerSpace"],
    },
)
