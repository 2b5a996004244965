"""Sound -> frames: decoding of any file, dynamic MFCCs, and worker processes that survive bad files."""

from nearsong.audio.decode import SAMPLE_RATE, load_audio, stream_audio
from nearsong.audio.delta_mfcc import DeltaMFCC, Frames, with_derivatives
from nearsong.audio.frames import load_frames, stream_frames
from nearsong.audio.workers import map_audio_files

__all__ = [
    "SAMPLE_RATE",
    "DeltaMFCC",
    "Frames",
    "load_audio",
    "load_frames",
    "map_audio_files",
    "stream_audio",
    "stream_frames",
    "with_derivatives",
]
