"""Imported before forks: what every command and worker of nearsong would otherwise import and compile first."""

import importlib

import numpy as np

from nearsong.model.encoders.registry import ENCODERS

for _module in (
    "nearsong.audio.workers",
    "nearsong.library.library",
    "nearsong.library.scanning.analyse_file",
    "nearsong.web.app",
    "nearsong.web.jobs.process",
    "nearsong.web.server",
):
    importlib.import_module(_module)
_noise = 0.1 * np.random.default_rng(0).standard_normal(44_100).astype(np.float32)
_frames = {}
for _encoder in ENCODERS.values():
    _features = _encoder.default_features()
    if _features.key not in _frames:
        _frames[_features.key] = _features.transform(_noise)
    _encoder.fit([_frames[_features.key]] * 3 if _encoder.needs_sample else [], features=_features, seed=0)
