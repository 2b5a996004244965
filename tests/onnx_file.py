"""Small ONNX files, written as protocol buffers by hand (fields as in onnx.proto)."""

import numpy as np


def _varint(number: int) -> bytes:
    groups = []
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])


def _field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _node(kind: str, inputs: list[str], output: str, **lists: list[int]) -> bytes:
    attributes = [
        _field(5, _field(1, name) + b"".join(_field(8, n) for n in numbers) + _field(20, 7))
        for name, numbers in lists.items()
    ]
    return _field(1, b"".join([*(_field(1, i) for i in inputs), _field(2, output), _field(4, kind), *attributes]))


def _value(number: int, name: str, shape: tuple[int, ...], kind: int = 1) -> bytes:
    sizes = b"".join(_field(1, _field(1, size)) for size in shape)
    return _field(number, _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, sizes))))


def _model(graph: bytes) -> bytes:
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 15))


def linear_network(kernel: np.ndarray, n_frames: int, *, input_kind: int = 1) -> bytes:
    """Return a network that maps (1, n_frames, n_bands) to the mean over frames of its product with a kernel."""
    n_bands, n_outputs = kernel.shape
    tensor = _field(1, n_bands) + _field(1, n_outputs) + _field(2, 1) + _field(8, "kernel")
    tensor += _field(9, kernel.astype("<f4").tobytes())
    nodes = _node("MatMul", ["sound", "kernel"], "products") + _node(
        "ReduceMean", ["products"], "embedding", axes=[1]
    )
    graph = nodes + _field(2, "linear") + _field(5, tensor) + _value(11, "sound", (1, n_frames, n_bands), input_kind)
    return _model(graph + _value(12, "embedding", (1, 1, n_outputs)))


def absolute_network(n_samples: int) -> bytes:
    """Return a network that maps samples (1, n_samples) to their absolute values."""
    graph = _node("Abs", ["sound"], "embedding") + _field(2, "absolute") + _value(11, "sound", (1, n_samples))
    return _model(graph + _value(12, "embedding", (1, n_samples)))
