"""Audio files -> frames: decoding of any format, MFCCs, chroma, mel levels, and workers for untrusted files."""

from typing import TYPE_CHECKING

from nearsong.lazy_names import lazy_names

if TYPE_CHECKING:
    from nearsong.audio.chroma import Chroma as Chroma
    from nearsong.audio.decode import SAMPLE_RATE as SAMPLE_RATE
    from nearsong.audio.decode import load_audio as load_audio
    from nearsong.audio.decode import stream_audio as stream_audio
    from nearsong.audio.delta_mfcc import DeltaMFCC as DeltaMFCC
    from nearsong.audio.delta_mfcc import with_derivatives as with_derivatives
    from nearsong.audio.features import FrameFeatures as FrameFeatures
    from nearsong.audio.features import Frames as Frames
    from nearsong.audio.features import FrameStream as FrameStream
    from nearsong.audio.frames import load_frames as load_frames
    from nearsong.audio.frames import stream_frames as stream_frames
    from nearsong.audio.mel_levels import MelLevels as MelLevels
    from nearsong.audio.workers import map_audio_files as map_audio_files

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "chroma": ["Chroma"],
        "decode": ["SAMPLE_RATE", "load_audio", "stream_audio"],
        "delta_mfcc": ["DeltaMFCC", "with_derivatives"],
        "features": ["FrameFeatures", "Frames", "FrameStream"],
        "frames": ["load_frames", "stream_frames"],
        "mel_levels": ["MelLevels"],
        "workers": ["map_audio_files"],
    },
)
