"""Audio files -> frames: decoding of any format, MFCCs, chroma, mel levels, and workers for untrusted files."""

from nearsong.audio.chroma import Chroma
from nearsong.audio.decode import SAMPLE_RATE, load_audio, stream_audio
from nearsong.audio.delta_mfcc import DeltaMFCC, with_derivatives
from nearsong.audio.features import FrameFeatures, Frames, FrameStream
from nearsong.audio.frames import load_frames, stream_frames
from nearsong.audio.mel_levels import MelLevels
from nearsong.audio.workers import map_audio_files

__all__ = [
    "SAMPLE_RATE",
    "Chroma",
    "DeltaMFCC",
    "FrameFeatures",
    "FrameStream",
    "Frames",
    "MelLevels",
    "load_audio",
    "load_frames",
    "map_audio_files",
    "stream_audio",
    "stream_frames",
    "with_derivatives",
]
