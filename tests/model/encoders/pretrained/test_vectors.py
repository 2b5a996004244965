"""Tables of vectors that a user brings, and the encoder that looks them up."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nearsong.errors import EncoderNotInstalledError, InvalidInputError
from nearsong.model.encoders import encode_file, read_encoder
from nearsong.model.encoders.pretrained.vector_table import read_vector_table
from nearsong.model.encoders.pretrained.vectors import VectorsEncoder
from synthesised_song import synthesised_song

KEYS = ["a.mp3", "b.mp3", "c.mp3"]
VECTORS = np.arange(12.0).reshape(3, 4)


def write(path, keys=KEYS, vectors=VECTORS, name="path"):
    """Write a table in the format that the path's suffix says."""
    if path.suffix == ".npz":
        np.savez(path, **{name: np.array(keys), "vectors": vectors})
    else:
        pq.write_table(pa.table({name: list(keys), "embedding": [list(row) for row in vectors]}), path)
    return path


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
@pytest.mark.parametrize(("name", "kind"), [("path", "path"), ("recording_mbid", "mbid"), ("content", "content")])
def test_a_table_is_read_as_it_was_written(tmp_path, suffix, name, kind):
    table = read_vector_table(write(tmp_path / f"vectors{suffix}", name=name))
    assert (table.kind, list(table.keys)) == (kind, KEYS)
    assert table.vectors.dtype == np.float32
    np.testing.assert_array_equal(table.vectors, VECTORS)


def test_a_parquet_file_may_have_a_column_for_each_dimension(tmp_path):
    columns = {f"d{i}": VECTORS[:, i] for i in range(4)}
    pq.write_table(pa.table({"genre": ["x"] * 3, "path": KEYS, **columns}), tmp_path / "vectors.parquet")
    np.testing.assert_array_equal(read_vector_table(tmp_path / "vectors.parquet").vectors, VECTORS)


def test_equal_tables_have_equal_digests(tmp_path):
    one, same = (read_vector_table(write(tmp_path / f"{i}{s}")) for i, s in enumerate([".npz", ".parquet"]))
    other = read_vector_table(write(tmp_path / "other.npz", vectors=VECTORS + 1))
    assert one.digest == same.digest != other.digest


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keys": ["a", "b", "a"]}, "has the key 'a' more than once"),
        ({"keys": ["a", "", "c"]}, "has an empty key in row 1"),
        ({"vectors": np.where(VECTORS == 5, np.nan, VECTORS)}, r"NaN or infinite number for 'b\.mp3' \(row 1\)"),
        ({"vectors": np.where(VECTORS == 5, 1e300, VECTORS)}, r"NaN or infinite number for 'b\.mp3' \(row 1\)"),
        ({"name": "song"}, "needs one key column, path, mbid or content, and has none"),
    ],
)
def test_what_cannot_be_looked_up_is_refused_in_one_line(tmp_path, suffix, changes, message):
    path = write(tmp_path / f"vectors{suffix}", **changes)
    with pytest.raises(InvalidInputError, match=message) as caught:
        read_vector_table(path)
    assert "\n" not in str(caught.value)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"\.npz and \.parquet"):
        read_vector_table(tmp_path / "vectors.csv")
    for suffix in (".npz", ".parquet"):
        path = tmp_path / f"vectors{suffix}"
        with pytest.raises(InvalidInputError, match="file not found"):
            read_vector_table(path)
        path.write_bytes(b"something else")
        with pytest.raises(InvalidInputError, match=r"is not (a readable|an npz)"):
            read_vector_table(path)
    np.savez(tmp_path / "vectors.npz", path=np.array(KEYS), vectors=VECTORS[:2])
    with pytest.raises(InvalidInputError, match=r"3 keys and vectors of shape \(2, 4\)"):
        read_vector_table(tmp_path / "vectors.npz")
    np.savez(tmp_path / "vectors.npz", path=np.array(KEYS, dtype=object), vectors=VECTORS)
    with pytest.raises(InvalidInputError, match="plain array"):
        read_vector_table(tmp_path / "vectors.npz")
    lists = pa.table({"path": KEYS, "embedding": [[1.0], [1.0, 2.0], [1.0]]})
    pq.write_table(lists, tmp_path / "vectors.parquet")
    with pytest.raises(InvalidInputError, match=r"vectors of 1 and of 2 numbers \(row 1\)"):
        read_vector_table(tmp_path / "vectors.parquet")


def test_a_song_that_was_not_looked_up_has_no_vector(tmp_path):
    import soundfile

    encoder = VectorsEncoder(4, "digest", "clap.npz")
    soundfile.write(tmp_path / "song.wav", synthesised_song(1.0), 22_050)
    vector = encode_file([encoder], tmp_path / "song.wav").vector
    assert vector.shape == (4,)
    assert np.isnan(vector).all()
    rows = np.vstack([vector, np.ones(4)])
    np.testing.assert_array_equal(encoder.restore(rows.astype(np.float32)), rows)
    with pytest.raises(InvalidInputError, match="NaN"):
        encoder.check([[1, np.nan, 2, 3]])
    with pytest.raises(InvalidInputError, match="3 columns"):
        encoder.check([[1, 2, 3]])


def test_it_is_stored_without_the_table():
    encoder = VectorsEncoder(4, "digest", "clap.npz")
    assert read_encoder(encoder.to_bytes()).key == encoder.key != VectorsEncoder(4, "other", "clap.npz").key
    with pytest.raises(EncoderNotInstalledError, match="nearsong encoders add vectors FILE"):
        VectorsEncoder.check_available()
