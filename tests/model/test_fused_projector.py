"""Models over fused encoders: what a space gives of phi is what the model gives, alone, in a database and stored."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA

from nearsong.encoding import Codebook
from nearsong.errors import InvalidInputError
from nearsong.model import CodewordEncoder, FusedProjector, Quantizer, SimilarityModel, SoundSpace
from nearsong.model.encoders import joined
from nearsong.model.fusion import Fusion
from nearsong.model.listener_space import ListenerSpace

N_ARTISTS, N_SONGS = 12, 48
ARTISTS = np.arange(N_SONGS) % N_ARTISTS


@pytest.fixture(scope="module")
def encoder():
    frames = np.random.default_rng(0).normal(size=(400, 39))
    return joined([CodewordEncoder(Quantizer(Codebook(size, random_state=0).fit(frames))) for size in (12, 8)])


@pytest.fixture(scope="module")
def vectors(encoder):
    random = np.random.default_rng(1)
    blocks = [random.dirichlet(np.ones(single.n_dimensions), N_SONGS) for single in encoder.encoders]
    return np.hstack(blocks)


@pytest.fixture(scope="module")
def fusion(encoder, vectors):
    return Fusion.fit(encoder.phi(vectors), encoder.parts)


@pytest.fixture(scope="module")
def phi(encoder, vectors, fusion):
    return fusion.transform(encoder.phi(vectors))


@pytest.fixture(scope="module")
def listeners():
    return sp.csr_array(np.random.default_rng(2).random((80, N_ARTISTS + 3)) < 0.3)


@pytest.fixture(scope="module")
def sound(encoder, fusion, phi):
    return SimilarityModel(encoder, FusedProjector(fusion, SoundSpace.fit(phi)))


@pytest.fixture(scope="module")
def learned(encoder, fusion, phi, listeners):
    space = ListenerSpace(centroid_share=0.7).fit(phi, ARTISTS, listeners)
    return SimilarityModel(encoder, FusedProjector(fusion, space))


def test_sound_alone_is_the_principal_components_of_phi(sound, vectors, phi):
    expected = PCA(n_components=0.95, svd_solver="full").fit(phi)
    embeddings = sound.project(vectors)
    assert embeddings.shape == (N_SONGS, sound.rank) == (N_SONGS, expected.n_components_)
    np.testing.assert_allclose(embeddings - embeddings.mean(axis=0), expected.transform(phi), atol=1e-9)
    assert sound.project_database(vectors, ARTISTS).tobytes() == embeddings.tobytes()


def test_a_learned_model_embeds_as_its_space_does(learned, vectors, phi):
    space = learned.projector.space
    np.testing.assert_array_equal(learned.project(vectors), space.transform(phi))
    np.testing.assert_array_equal(learned.project_database(vectors, ARTISTS), space.transform_database(phi, ARTISTS))
    assert learned.projector.uses_artists
    assert learned.project(vectors[3]).tobytes() == learned.project(vectors)[3].tobytes()
    assert learned.project(vectors[:0]).shape == learned.project_database(vectors[:0], []).shape == (0, learned.rank)


@pytest.mark.parametrize("name", ["sound", "learned"])
def test_a_stored_model_gives_the_same_bytes(name, vectors, tmp_path, request):
    model = request.getfixturevalue(name)
    model.save(tmp_path / "model")
    again = SimilarityModel.load(tmp_path / "model")
    assert again.project(vectors).tobytes() == model.project(vectors).tobytes()
    assert again.project_database(vectors, ARTISTS).tobytes() == model.project_database(vectors, ARTISTS).tobytes()
    assert again.rank == model.rank


@pytest.mark.parametrize("name", ["sound", "learned"])
def test_a_song_without_a_vector_of_one_encoder_is_embedded_by_the_others(name, vectors, request):
    model = request.getfixturevalue(name)
    lacking = vectors.copy()
    lacking[:, 12:] = np.nan
    embeddings = model.project(lacking)
    assert np.isfinite(embeddings).all()
    changed = vectors.copy()
    changed[:, 12:] = changed[::-1, 12:]
    changed[::2, 12:] = np.nan
    np.testing.assert_array_equal(model.project(changed)[::2], embeddings[::2])


def test_what_does_not_fit_is_refused(encoder, sound, learned, vectors):
    with pytest.raises(InvalidInputError, match="disagree on the parts"):
        SimilarityModel(encoder.encoders[0], sound.projector)
    with pytest.raises(InvalidInputError, match="all sound the same"):
        SoundSpace.fit(np.ones((3, 4)))
    with pytest.raises(InvalidInputError, match="the basis of a sound space has a NaN"):
        SoundSpace(np.full((3, 2), np.nan))
    with pytest.raises(InvalidInputError, match="artists has shape"):
        learned.project_database(vectors, ARTISTS[:-1])
    with pytest.raises(InvalidInputError, match="cannot be averaged"):
        SimilarityModel.combined([sound, learned])
