import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.encoding import Codebook
from nearsong.errors import InvalidInputError
from nearsong.library.answers.why.explain import Explanation, SoundCharacter, contributions, explain, in_words
from nearsong.model import CodewordEncoder, MetricProjector, Projection, Quantizer, SimilarityModel
from nearsong.model.encoders import joined


def codebook_of(size, seed=0):
    random = np.random.default_rng(seed)
    words = random.normal(size=(size, 39)) * 20
    return Codebook.from_arrays(np.zeros(39), np.ones(39), words, random.integers(1, 50, size))


def projection_of(size, seed, applies_phi, index=0, weight=1.0, rank=3):
    random = np.random.default_rng(seed)
    basis = np.linalg.qr(random.normal(size=(size, rank + 1)))[0].T
    mean = random.dirichlet(np.ones(size))
    mean = np.sqrt(mean) if applies_phi else mean
    factor = random.normal(size=(rank, rank + 1))
    return Projection(
        encoder_index=index, applies_phi=applies_phi, mean=mean, basis=basis, factor=factor, weight=weight
    )


def model_of(*kernels, sizes=(8,)):
    """Return a model with a projection for each of these kernels, the encoders taking turns."""
    encoders = [CodewordEncoder(Quantizer(codebook_of(size, seed=i))) for i, size in enumerate(sizes)]
    projections = [
        projection_of(sizes[i % len(sizes)], 7 + i, kernel, i % len(sizes), weight=0.5 + i)
        for i, kernel in enumerate(kernels)
    ]
    return SimilarityModel(joined(encoders), MetricProjector(projections))


def songs_for(model, n, seed=3):
    random = np.random.default_rng(seed)
    sizes = [encoder.n_dimensions for encoder in model.encoder.encoders]
    return np.hstack([random.dirichlet(np.full(size, 0.4), n) for size in sizes])


MODELS = [model_of(True), model_of(False), model_of(True, False, True), model_of(True, False, True, sizes=(8, 5))]


@pytest.mark.parametrize("model", MODELS)
def test_codewords_sum_to_the_models_own_distance(model):
    for query, song in songs_for(model, 20).reshape(10, 2, -1):
        parts, *squares = contributions(model, query, song)
        embeddings = model.project(np.stack([query, song]))
        assert squares == pytest.approx((embeddings**2).sum(axis=1))
        assert parts.sum() == pytest.approx(embeddings[0] @ embeddings[1])
        found = explain(model, query, song)
        assert found.distance == pytest.approx(np.linalg.norm(embeddings[0] - embeddings[1]), rel=1e-9)
        assert found.distance**2 == pytest.approx(found.query_square + found.song_square - 2 * found.inner)


@pytest.mark.parametrize("model", MODELS)
def test_a_codeword_brings_what_the_formula_says(model):
    query, song = songs_for(model, 2)
    expected = np.zeros(model.n_dimensions)
    starts = np.cumsum([0] + [encoder.n_dimensions for encoder in model.encoder.encoders])
    for projection in model.projector.projections:
        span = slice(*starts[projection.encoder_index : projection.encoder_index + 2])
        P = np.sqrt(projection.weight) * projection.factor @ projection.basis
        M = P.T @ P
        a, b = (np.sqrt(h[span]) if projection.applies_phi else h[span] for h in (query, song))
        a, b = a - projection.mean, b - projection.mean
        for v in range(len(a)):
            for w in range(len(a)):
                expected[span.start + v] += (a[v] * M[v, w] * b[w] + b[v] * M[v, w] * a[w]) / 2
    np.testing.assert_allclose(contributions(model, query, song)[0], expected, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(range(len(MODELS))))
def test_the_other_way_round_it_is_the_same(seed, which):
    model = MODELS[which]
    query, song = songs_for(model, 2, seed)
    there, back = explain(model, query, song, n=50), explain(model, song, query, n=50)
    assert there.distance == pytest.approx(back.distance)
    for mine, theirs in ((there.similarities, back.similarities), (there.differences, back.differences)):
        assert [sound.words for sound in mine] == [sound.words for sound in theirs]
        for one, other in zip(mine, theirs, strict=True):
            assert (one.in_query, one.in_song) == (other.in_song, other.in_query)
            assert one.share == pytest.approx(other.share)
            assert 0 < one.share <= 1
    assert not {sound.words for sound in there.similarities} & {sound.words for sound in there.differences}


def planted():
    """Return a native model and songs of which two share a sound that nobody else has."""
    songs = np.random.default_rng(0).dirichlet(np.ones(10), 30)
    songs[:, 4] *= 0.01
    songs[:2, 4] = 0.4
    songs /= songs.sum(axis=1, keepdims=True)
    return SimilarityModel.learn(codebook_of(10), songs, explained_variance=0.999), songs


def test_what_both_have_and_others_lack_comes_first():
    model, songs = planted()
    found = explain(model, songs[0], songs[1], words=[f"sound {v}" for v in range(10)], average=songs.mean(axis=0))
    first = found.similarities[0]
    assert (first.dimension, first.dimensions, first.words) == (4, (4,), "sound 4")
    assert first.share > 0.5
    assert first.in_query == pytest.approx(songs[0, 4])
    assert first.in_song == pytest.approx(songs[1, 4])
    assert first.in_library == pytest.approx(songs[:, 4].mean())
    assert first.reason() == "both have more of it than most songs"


def test_what_one_has_and_the_other_lacks_parts_them():
    songs = np.random.default_rng(0).dirichlet(np.full(10, 3.0), 30)
    songs[0] = 0.04
    songs[0, 7] = 0.64
    songs[1, 7] = 0
    songs /= songs.sum(axis=1, keepdims=True)
    model = SimilarityModel.learn(codebook_of(10), songs, explained_variance=0.999)
    first = explain(
        model, songs[0], songs[1], words=[str(v) for v in range(10)], average=songs.mean(axis=0)
    ).differences[0]
    assert (first.dimension, first.is_similarity) == (7, False)
    assert first.reason() == "the first has more of it than most songs"
    assert first.share > 0.5


def test_codewords_that_sound_alike_are_taken_together():
    model = model_of(True, False)
    query, song = songs_for(model, 2)
    words = ["dull", "sharp"] * 4
    parts = contributions(model, query, song)[0]
    sums = {"dull": parts[::2].sum(), "sharp": parts[1::2].sum()}
    found = explain(model, query, song, words=words)
    for sound in (*found.similarities, *found.differences):
        start = words.index(sound.words)
        assert sound.is_similarity == (sums[sound.words] > 0)
        assert sorted(sound.dimensions) == list(range(start, 8, 2))
        assert sound.dimension == max(sound.dimensions, key=lambda v: parts[v] * (1 if sound.is_similarity else -1))
        assert sound.in_query == pytest.approx(query[start::2].sum())


def test_shares_of_a_song_are_means_over_the_codebooks_that_know_the_sound():
    model = model_of(True, True, sizes=(8, 5))
    query, song = songs_for(model, 2)
    words = ["both"] * 4 + ["first"] * 4 + ["both"] * 2 + ["second"] * 3
    found = explain(model, query, song, words=words, n=9)
    expected = {
        "both": (query[:4].sum() + query[8:10].sum()) / 2,
        "first": query[4:8].sum(),
        "second": query[10:].sum(),
    }
    named = {sound.words: sound.in_query for sound in (*found.similarities, *found.differences)}
    assert named
    assert named == {word: pytest.approx(expected[word]) for word in named}


def test_only_as_many_as_asked_and_nothing_that_hardly_counts():
    model = model_of(True, sizes=(60,))
    query, song = songs_for(model, 2)
    words = [str(v) for v in range(60)]
    parts = contributions(model, query, song)[0]
    found = explain(model, query, song, n=60, words=words)
    assert len(found.similarities) == (parts > 0.02 * np.abs(parts).sum()).sum()
    assert len(found.differences) == (-parts > 0.02 * np.abs(parts).sum()).sum()
    assert explain(model, query, song, n=2, words=words).similarities == found.similarities[:2]
    assert explain(model, query, song, n=0).similarities == ()


def test_a_song_compared_with_itself_is_at_no_distance():
    model = MODELS[3]
    song = songs_for(model, 1)[0]
    found = explain(model, song, song)
    assert found.distance == pytest.approx(0, abs=1e-7)


def test_by_default_words_and_the_average_come_from_the_model():
    model = MODELS[0]
    counts = model.encoder.quantizer.codebook.counts_
    found = explain(model, *songs_for(model, 2), n=9)
    assert found.similarities
    for sound in (*found.similarities, *found.differences):
        assert sound.in_library == pytest.approx(counts[list(sound.dimensions)].sum() / counts.sum())
        assert "," in sound.words


# ---- words


def character(is_similarity, query, song, in_library, songs=()):
    return SoundCharacter(is_similarity, 1, (1,), 0.5, query, song, in_library, "bright, steady", songs)


@pytest.mark.parametrize(
    ("is_similarity", "query", "song", "reason"),
    [
        (True, 0.3, 0.4, "both have more of it than most songs"),
        (True, 0.1, 0.0, "both have less of it than most songs"),
        (True, 0.1, 0.4, "it is related to other sounds they share"),
        (False, 0.3, 0.1, "the first has more of it than most songs"),
        (False, 0.1, 0.3, "the second has more of it than most songs"),
        (False, 0.3, 0.3, "both have more of it than their other sounds suggest"),
        (False, 0.1, 0.1, "both have less of it than their other sounds suggest"),
    ],
)
def test_the_reason_fits_the_numbers(is_similarity, query, song, reason):
    assert character(is_similarity, query, song, in_library=0.2).reason() == reason


def test_lines_say_how_much_of_each_song_it_is():
    found = Explanation(
        (character(True, 0.12, 0.093, 0.03, (5, 6)),), (character(False, 0.2, 0, 0.0002),), 1, 0, 0, 0
    )
    assert in_words(found, {5: "Anna - Sea", 6: "Bo - Sky"}) == [
        "In common, in words for the library's own sounds:",
        "  bright, steady: 12 % of this song, 9.3 % of the other song, 3.0 % of the library; "
        "both have more of it than most songs; examples: Anna - Sea, Bo - Sky",
        "Different, in words for the library's own sounds:",
        "  bright, steady: 20 % of this song, 0 % of the other song, under 0.1 % of the library; "
        "this song has more of it than most songs",
    ]
    assert "examples" not in "".join(in_words(found))
    assert in_words(Explanation((), (), 0, 0, 0, 0)) == []
    assert "12 % of A, 9.3 % of B" in in_words(found, str, query="A", song="B")[1]


def test_what_does_not_fit_the_model_is_refused():
    model = MODELS[0]
    query, song = songs_for(model, 2)
    with pytest.raises(InvalidInputError, match=r"a song vector has shape \(7,\).*give 8 numbers"):
        explain(model, query[1:], song)
    with pytest.raises(InvalidInputError, match="not finite"):
        explain(model, query, song * np.nan)
    with pytest.raises(InvalidInputError, match="Negative values in data passed to ProductKernelMap, first in row 1"):
        explain(model, query, song - 1)
    with pytest.raises(InvalidInputError, match="1 labels given for 8 dimensions"):
        explain(model, query, song, words=["x"])
    with pytest.raises(InvalidInputError, match=r"average has shape \(2,\)"):
        explain(model, query, song, average=[0.5, 0.5])
    with pytest.raises(InvalidInputError, match="n=-1"):
        explain(model, query, song, n=-1)
