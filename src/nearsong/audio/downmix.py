"""Audio of any number of channels -> one or two, never above full scale.

Centre and surround channels are mixed into left and right at -3 dB (ITU-R BS.775), the low-frequency channel is
dropped, and all is scaled so that no sum of channels can exceed full scale.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

_HALF = float(np.sqrt(0.5))
_LEFT = ("BL", "FLC", "SL", "TFL", "TBL", "TSL", "WL", "SDL", "BFL", "SSL")
_RIGHT = ("BR", "FRC", "SR", "TFR", "TBR", "TSR", "WR", "SDR", "BFR", "SSR")

# the share of a channel in the left and the right output, by FFmpeg's channel names
_SHARES = {
    **dict.fromkeys(("FL", "DL"), (1.0, 0.0)),
    **dict.fromkeys(("FR", "DR"), (0.0, 1.0)),
    **dict.fromkeys(_LEFT, (_HALF, 0.0)),
    **dict.fromkeys(_RIGHT, (0.0, _HALF)),
    "FC": (_HALF, _HALF),
    **dict.fromkeys(("BC", "TC", "TFC", "TBC", "BFC"), (0.5, 0.5)),
}
_SILENT = (0.0, 0.0)

# the channel order of WAV files, by the number of channels
_DEFAULT_LAYOUTS = {
    1: ("FC",),
    2: ("FL", "FR"),
    3: ("FL", "FR", "FC"),
    4: ("FL", "FR", "BL", "BR"),
    5: ("FL", "FR", "FC", "BL", "BR"),
    6: ("FL", "FR", "FC", "LFE", "BL", "BR"),
    7: ("FL", "FR", "FC", "LFE", "BC", "SL", "SR"),
    8: ("FL", "FR", "FC", "LFE", "BL", "BR", "SL", "SR"),
}


def default_channels(n_channels: int) -> tuple[str, ...]:
    """Return the channel names of a file that does not declare them.

    >>> default_channels(4)
    ('FL', 'FR', 'BL', 'BR')
    """
    return _DEFAULT_LAYOUTS.get(n_channels, ("",) * n_channels)


@lru_cache(maxsize=64)
def weights(channels: tuple[str, ...], n_out: int) -> npt.NDArray[np.float32]:
    """Return the downmix matrix (outputs x channels); each row sums to at most 1.

    >>> weights(("FL", "FR", "FC", "LFE"), 2).round(2)
    array([[0.59, 0.  , 0.41, 0.  ],
           [0.  , 0.59, 0.41, 0.  ]], dtype=float32)
    >>> weights(("FL", "FR"), 2).tolist(), weights(("FC",), 2).tolist(), weights(("FL", "FR"), 1).tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [[1.0], [1.0]], [[0.5, 0.5]])
    """
    if len(channels) == 1:
        table = np.ones((2, 1))
    elif len(channels) == 2:  # whatever their names
        table = np.eye(2)
    else:
        known = channels if _SHARES.keys() & channels else default_channels(len(channels))
        table = np.array([_SHARES.get(name, _SILENT) for name in known]).T
    if not table.any(axis=1).all():  # one side would be silent: the names are unknown
        table = np.ones((2, len(channels)))
    if n_out == 1:
        table = table.mean(axis=0, keepdims=True)
    result: npt.NDArray[np.float32] = (table / max(1.0, table.sum(axis=1).max())).astype(np.float32)
    result.setflags(write=False)
    return result


def downmix(planes: npt.NDArray[np.float32], channels: tuple[str, ...], n_out: int) -> npt.NDArray[np.float32]:
    """Mix channels x samples to one or two channels within full scale; NaN becomes 0.

    >>> downmix(np.array([[0.5, np.nan, 3.0]], dtype=np.float32), ("FC",), 2).tolist()
    [[0.5, 0.0, 1.0], [0.5, 0.0, 1.0]]
    """
    clean = np.nan_to_num(planes, nan=0.0, posinf=1.0, neginf=-1.0)
    if len(channels) != n_out:
        clean = weights(channels, n_out) @ clean
    return np.asarray(np.clip(clean, -1.0, 1.0))
