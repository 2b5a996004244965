"""Arrays are read as numpy reads them, also by two threads at once."""

import gc
import io
import time
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from nearsong.model.plain_arrays import array_names, read_array
from waiting import in_threads

KINDS = st.one_of(
    npst.boolean_dtypes(),
    npst.integer_dtypes(endianness="?"),
    npst.floating_dtypes(endianness="?"),
    npst.complex_number_dtypes(),
    npst.unicode_string_dtypes(endianness="?", max_len=5),
    npst.byte_string_dtypes(max_len=5),
)


def archive_of(save=np.savez, **arrays) -> zipfile.ZipFile:
    file = io.BytesIO()
    save(file, **arrays)
    return zipfile.ZipFile(file)


@given(npst.arrays(KINDS, npst.array_shapes(min_dims=0, min_side=0)), st.booleans(), st.booleans())
def test_an_array_is_what_numpy_reads(array, fortran, compressed):
    array = np.asfortranarray(array) if fortran else array
    with archive_of(np.savez_compressed if compressed else np.savez, it=array) as archive:
        read = read_array(archive, "it")
    assert (read.dtype, read.shape, read.flags.writeable) == (array.dtype, array.shape, True)
    assert read.tobytes() == array.tobytes()


def test_the_names_are_those_of_numpy():
    with archive_of(one=np.zeros(2), two=np.ones(3)) as archive:
        assert array_names(archive) == ["one", "two"]
        with pytest.raises(KeyError):
            read_array(archive, "three")


@pytest.mark.parametrize(
    "array",
    [np.array([None]), np.zeros(2, dtype=[("a", "i4"), ("b", "f8")]), np.zeros(2, "datetime64[s]")],
    ids=["objects", "records", "dates"],
)
def test_other_than_plain_arrays_are_refused(array):
    with archive_of(it=array) as archive, pytest.raises(ValueError, match="not a plain array"):
        read_array(archive, "it")


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"", "not an array"),
        (lambda data: b"hello" + data, "not an array"),
        (lambda data: data.replace(b"\x93NUMPY\1", b"\x93NUMPY\7"), "not an array"),
        (lambda data: data[:-1], "does not have the size it declares"),
        (lambda data: data + b"x", "does not have the size it declares"),
        (lambda data: data.replace(b"(3, 4), }", b"(3, 9), }"), "does not have the size it declares"),
        (lambda data: data.replace(b"(3, 4), }      ", b"(3, 99999999999)"), "not a plain array"),
        (
            lambda data: data.replace(b"(3, 4), }          ", b"(3, 99999999999), }"),
            "does not have the size it declares",
        ),
        (lambda data: data.replace(b"'<f8'", b"'<f9'"), "."),
    ],
)
def test_damage_is_noticed_before_memory_is_asked_for(change, message):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("it.npy", change(npy(np.zeros((3, 4)))))
    with zipfile.ZipFile(file) as archive, pytest.raises((ValueError, TypeError), match=message):
        read_array(archive, "it")


def test_a_changed_byte_is_noticed():
    file = io.BytesIO()
    np.savez(file, it=np.arange(1000.0))
    data = bytearray(file.getvalue())
    data[len(data) // 2] ^= 1
    with zipfile.ZipFile(io.BytesIO(data)) as archive, pytest.raises(zipfile.BadZipFile):
        read_array(archive, "it")


def test_two_threads_read_at_once():
    """Where collecting garbage lets another thread run, numpy's own reader fails on Python 3.11 within a second."""
    parts = {f"part{i}": np.full((3, 4), float(i)) for i in range(20)}
    until = time.monotonic() + 1

    def read(_number: int) -> None:
        while time.monotonic() < until:
            with archive_of(**parts) as archive:
                assert all((read_array(archive, name) == parts[name]).all() for name in array_names(archive))

    before, let_others_run = gc.get_threshold(), lambda _phase, _info: time.sleep(0)
    gc.callbacks.append(let_others_run)
    gc.set_threshold(20)
    try:
        in_threads(read, range(3))
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(let_others_run)
