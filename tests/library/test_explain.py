import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.encoding import Codebook
from nearsong.errors import InvalidInputError
from nearsong.library.explain import (
    Explanation,
    SoundCharacter,
    contributions,
    explain,
    in_words,
)
from nearsong.model import Encoder, SimilarityModel, View


def codebook_of(size, seed=0):
    random = np.random.default_rng(seed)
    words = random.normal(size=(size, 39)) * 20
    return Codebook.from_arrays(np.zeros(39), np.ones(39), words, random.integers(1, 50, size))


def view_of(size, seed, product_kernel, encoder=0, weight=1.0, rank=3):
    random = np.random.default_rng(seed)
    basis = np.linalg.qr(random.normal(size=(size, rank + 1)))[0].T
    mean = random.dirichlet(np.ones(size))
    mean = np.sqrt(mean) if product_kernel else mean
    return View(encoder, product_kernel, mean, basis, random.normal(size=(rank, rank + 1)), weight)


def model_of(*kernels, sizes=(8,)):
    """Return a model with a view for each of these kernels, the encoders taking turns."""
    encoders = [Encoder(codebook_of(size, seed=i)) for i, size in enumerate(sizes)]
    views = [
        view_of(sizes[i % len(sizes)], 7 + i, kernel, i % len(sizes), weight=0.5 + i)
        for i, kernel in enumerate(kernels)
    ]
    return SimilarityModel(encoders, views)


def songs_for(model, n, seed=3):
    random = np.random.default_rng(seed)
    sizes = [encoder.histogram.n_codewords for encoder in model.encoders]
    return np.hstack([random.dirichlet(np.full(size, 0.4), n) for size in sizes])


MODELS = [
    model_of(True),
    model_of(False),
    model_of(True, False, True),
    model_of(True, False, True, sizes=(8, 5)),
]


@pytest.mark.parametrize("model", MODELS)
def test_codewords_sum_to_the_models_own_distance(model):
    for query, song in songs_for(model, 20).reshape(10, 2, -1):
        parts, *squares = contributions(model, query, song)
        places = model.project(np.stack([query, song]))
        assert squares == pytest.approx((places**2).sum(axis=1))
        assert parts.sum() == pytest.approx(places[0] @ places[1])
        found = explain(model, query, song)
        assert found.distance == pytest.approx(np.linalg.norm(places[0] - places[1]), rel=1e-9)
        assert found.distance**2 == pytest.approx(found.query_square + found.song_square - 2 * found.inner)
        assert found.likeness == pytest.approx(
            places[0] @ places[1] / np.linalg.norm(places[0]) / np.linalg.norm(places[1])
        )


@pytest.mark.parametrize("model", MODELS)
def test_a_codeword_brings_what_the_formula_says(model):
    query, song = songs_for(model, 2)
    expected = np.zeros(model.n_codewords)
    starts = np.cumsum([0] + [encoder.histogram.n_codewords for encoder in model.encoders])
    for view in model.views:
        span = slice(starts[view.encoder], starts[view.encoder + 1])
        P = np.sqrt(view.weight) * view.factor @ view.basis
        M = P.T @ P
        a, b = (np.sqrt(h[span]) if view.product_kernel else h[span] for h in (query, song))
        a, b = a - view.mean, b - view.mean
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
    for mine, theirs in ((there.together, back.together), (there.apart, back.apart)):
        assert [sound.words for sound in mine] == [sound.words for sound in theirs]
        for one, other in zip(mine, theirs, strict=True):
            assert (one.in_query, one.in_song) == (other.in_song, other.in_query)
            assert one.share == pytest.approx(other.share)
            assert 0 < one.share <= 1
    assert not {sound.words for sound in there.together} & {sound.words for sound in there.apart}


def planted():
    """Return a native model and songs of which two share a sound that nobody else has."""
    songs = np.random.default_rng(0).dirichlet(np.ones(10), 30)
    songs[:, 4] *= 0.01
    songs[:2, 4] = 0.4
    songs /= songs.sum(axis=1, keepdims=True)
    return SimilarityModel.learn(codebook_of(10), songs, explained_variance=0.999), songs


def test_what_both_have_and_others_lack_comes_first():
    model, songs = planted()
    found = explain(model, songs[0], songs[1], words=[f"sound {v}" for v in range(10)], usual=songs.mean(axis=0))
    first = found.together[0]
    assert (first.codeword, first.codewords, first.words) == (4, (4,), "sound 4")
    assert first.share > 0.5
    assert first.in_query == pytest.approx(songs[0, 4])
    assert first.in_song == pytest.approx(songs[1, 4])
    assert first.usual == pytest.approx(songs[:, 4].mean())
    assert first.reason() == "both have more of it than most"


def test_what_one_has_and_the_other_lacks_parts_them():
    songs = np.random.default_rng(0).dirichlet(np.full(10, 3.0), 30)
    songs[0] = 0.04
    songs[0, 7] = 0.64
    songs[1, 7] = 0
    songs /= songs.sum(axis=1, keepdims=True)
    model = SimilarityModel.learn(codebook_of(10), songs, explained_variance=0.999)
    first = explain(model, songs[0], songs[1], words=[str(v) for v in range(10)], usual=songs.mean(axis=0)).apart[0]
    assert (first.codeword, first.together) == (7, False)
    assert first.reason() == "the first has more of it than most"
    assert first.share > 0.5


def test_codewords_that_sound_alike_are_taken_together():
    model = model_of(True, False)
    query, song = songs_for(model, 2)
    words = ["dull", "sharp"] * 4
    parts = contributions(model, query, song)[0]
    sums = {"dull": parts[::2].sum(), "sharp": parts[1::2].sum()}
    found = explain(model, query, song, words=words)
    for sound in (*found.together, *found.apart):
        start = words.index(sound.words)
        assert sound.together == (sums[sound.words] > 0)
        assert sorted(sound.codewords) == list(range(start, 8, 2))
        assert sound.codeword == max(sound.codewords, key=lambda v: parts[v] * (1 if sound.together else -1))
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
    named = {sound.words: sound.in_query for sound in (*found.together, *found.apart)}
    assert named
    assert named == {word: pytest.approx(expected[word]) for word in named}


def test_only_as_many_as_asked_and_nothing_that_hardly_counts():
    model = model_of(True, sizes=(60,))
    query, song = songs_for(model, 2)
    words = [str(v) for v in range(60)]
    parts = contributions(model, query, song)[0]
    found = explain(model, query, song, n=60, words=words)
    assert len(found.together) == (parts > 0.02 * np.abs(parts).sum()).sum()
    assert len(found.apart) == (-parts > 0.02 * np.abs(parts).sum()).sum()
    assert explain(model, query, song, n=2, words=words).together == found.together[:2]
    assert explain(model, query, song, n=0).together == ()


def test_a_song_beside_itself_is_at_no_distance():
    model = MODELS[3]
    song = songs_for(model, 1)[0]
    found = explain(model, song, song)
    assert found.distance == pytest.approx(0, abs=1e-7)
    assert found.likeness == pytest.approx(1)


def test_by_default_words_and_the_usual_come_from_the_model():
    model = MODELS[0]
    counts = model.encoders[0].codebook.counts_
    found = explain(model, *songs_for(model, 2), n=9)
    assert found.together
    for sound in (*found.together, *found.apart):
        assert sound.usual == pytest.approx(counts[list(sound.codewords)].sum() / counts.sum())
        assert "," in sound.words


# ---- words


def character(together, query, song, usual, songs=()):
    return SoundCharacter(together, 1, (1,), 0.5, query, song, usual, "bright, steady", songs)


@pytest.mark.parametrize(
    ("together", "query", "song", "reason"),
    [
        (True, 0.3, 0.4, "both have more of it than most"),
        (True, 0.1, 0.0, "both have less of it than most"),
        (True, 0.1, 0.4, "it goes with other sounds they share"),
        (False, 0.3, 0.1, "the first has more of it than most"),
        (False, 0.1, 0.3, "the second has more of it than most"),
        (False, 0.3, 0.3, "both have more of it than their other sounds suggest"),
        (False, 0.1, 0.1, "both have less of it than their other sounds suggest"),
    ],
)
def test_the_reason_fits_the_numbers(together, query, song, reason):
    assert character(together, query, song, usual=0.2).reason() == reason


def test_lines_say_how_much_of_each_song_it_is():
    found = Explanation(
        (character(True, 0.12, 0.093, 0.03, (5, 6)),), (character(False, 0.2, 0, 0.0002),), 1, 0, 0, 0
    )
    assert in_words(found, {5: "Anna - Sea", 6: "Bo - Sky"}) == [
        "Together:",
        "  bright, steady: 12 % of this song, 9.3 % of the other, 3.0 % of the library; "
        "both have more of it than most; full of it: Anna - Sea, Bo - Sky",
        "Apart:",
        "  bright, steady: 20 % of this song, 0 % of the other, under 0.1 % of the library; "
        "this song has more of it than most",
    ]
    assert "full of it" not in "".join(in_words(found))
    assert in_words(Explanation((), (), 0, 0, 0, 0)) == []
    assert "12 % of A, 9.3 % of B" in in_words(found, str, query="A", song="B")[1]


def test_what_does_not_fit_the_model_is_refused():
    model = MODELS[0]
    query, song = songs_for(model, 2)
    with pytest.raises(InvalidInputError, match=r"an encoded song has shape \(7,\).*8 shares are needed"):
        explain(model, query[1:], song)
    with pytest.raises(InvalidInputError, match="negative or not finite"):
        explain(model, query, song * np.nan)
    with pytest.raises(InvalidInputError, match="negative or not finite"):
        explain(model, query, song - 1)
    with pytest.raises(InvalidInputError, match="1 words came for 8 codewords"):
        explain(model, query, song, words=["x"])
    with pytest.raises(InvalidInputError, match=r"usual has shape \(2,\)"):
        explain(model, query, song, usual=[0.5, 0.5])
    with pytest.raises(InvalidInputError, match="n=-1"):
        explain(model, query, song, n=-1)
