"""Methods that learn from several encoders: what they are fitted on, what is chosen, and the model that comes out."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from nearsong.encoding import Codebook
from nearsong.errors import InvalidInputError
from nearsong.library.training.data import TrainingSet, choose_training_set
from nearsong.library.training.fit import TrainingData, TrainingSettings, evaluate, fit_model, methods_for
from nearsong.library.training.fused import columns_of, fused_members, members_joined, weighted_parts
from nearsong.library.training.learning import SplitLearner
from nearsong.library.training.threads import StopSignal
from nearsong.model import CodewordEncoder, FusedProjector, MetricProjector, Quantizer, SimilarityModel
from nearsong.model.encoders import JoinedEncoder, VectorPart
from nearsong.model.encoders.gaussian import GaussianEncoder
from nearsong.model.fusion import Fusion
from nearsong.model.held_out import make_split
from nearsong.model.listener_space import ListenerSpace
from nearsong.model.listener_space.centroids import with_centroids

V = 16
N_OUTSIDE = 40
QUICK = TrainingSettings(losses=("auc",), Cs=(1e2, 1e3), n_splits=3, penalties=(0.3,), sound_weights=(0.25,))


@pytest.fixture(scope="module")
def encoder() -> JoinedEncoder:
    frames = np.random.default_rng(0).normal(size=(500, 39))
    codewords = CodewordEncoder(Quantizer(Codebook(V).fit(frames), 1))
    return JoinedEncoder([codewords, GaussianEncoder.fit([frames])])


def planted(n_artists: int = 60, *, seed: int = 0, related: bool = True) -> TrainingData:
    """Make artists whose taste is audible to the second encoder, and listeners who follow it, also outside."""
    random = np.random.default_rng(seed)
    taste = random.normal(size=(n_artists + N_OUTSIDE, 2))
    song_artist = np.repeat(np.arange(n_artists), 3)
    audible = taste[:n_artists] if related else random.permutation(taste[:n_artists])
    hidden = np.hstack([0.7 * audible[song_artist], random.normal(size=(len(song_artist), 6))])
    statistics = hidden @ random.normal(size=(8, 819)) + 0.3 * random.normal(size=(len(song_artist), 819))
    histograms = random.dirichlet(np.ones(V), size=len(song_artist))
    users = random.normal(size=(300, 2))
    gap = ((users[:, None] - taste[None]) ** 2).sum(axis=2)
    plays = sp.csr_array(random.random(gap.shape) < np.exp(-0.7 * gap))
    return TrainingData(
        vectors=np.hstack([histograms, statistics]).astype(np.float32),
        song_artist=song_artist,
        artist_plays=sp.csr_array(plays[:, :n_artists]),
        listeners={"users": 300},
        all_plays=plays,
        artist_names=[f"Artist {column}" for column in range(n_artists + N_OUTSIDE)],
    )


@pytest.fixture(scope="module")
def data() -> TrainingData:
    return planted()


@pytest.fixture(scope="module")
def trained(encoder, data):
    return fit_model(encoder, data, QUICK)


def test_every_method_is_scored_on_the_same_artists_beside_the_baselines(trained):
    report = trained.report
    methods = ["paper", "mlr", "listener_space", "combined"]
    assert [row.name for row in report.rows] == ["random", "popularity", "native", *methods, "learned", "ceiling"]
    assert len({row.known.artists for row in report.rows if row.name != "ceiling"}) == 1
    assert report.validation.keys() == set(methods)
    names = {row.name for row in report.differences}
    assert {"combined - native", "mlr - popularity", "listener_space - paper", "learned - paper"} <= names
    assert "paper - paper" not in names
    assert all(row.known_terciles is not None for row in report.rows if row.name != "ceiling")


def test_the_method_with_the_best_mean_validation_score_is_chosen(trained):
    report = trained.report
    assert report.decision == "learned"
    assert report.validation[report.method] == max(report.validation.values())
    assert report.score("learned") > report.score("native") + 0.02
    for choice in report.choices:
        assert choice.method in report.validation
        assert choice.choice
    assert trained.model.trained_on["method"] == report.method
    json.dumps(dict(trained.model.trained_on))


@pytest.mark.parametrize("method", ["paper", "mlr", "listener_space", "combined"])
def test_each_method_gives_a_model_of_the_encoders_it_needs(encoder, data, method, monkeypatch):
    monkeypatch.setattr("nearsong.library.training.fit.verdict", lambda report: "gain")
    settings = replace(QUICK, methods=(method,), n_splits=1)
    fitted = fit_model(encoder, data, settings)
    report = replace(fitted.report, method=method)
    assert report.method in (method, "mlr", "listener_space")  # the combined one is also compared with its parts
    model = SimilarityModel.from_bytes(fitted.model.to_bytes())
    names = [member.name for member in model.encoder.encoders]
    assert names == (["codewords"] if fitted.report.method == "paper" else ["gaussian"])
    assert isinstance(model.projector, MetricProjector if fitted.report.method == "paper" else FusedProjector)
    vectors = data.vectors[:, :V] if fitted.report.method == "paper" else data.vectors[:, V:]
    assert model.project(vectors).shape == (180, model.rank)
    np.testing.assert_array_equal(model.project(vectors[:5]), fitted.model.project(vectors[:5]))
    anchors = model.trained_on.get("anchors", {})
    assert bool(anchors) == (fitted.report.method in ("listener_space", "combined"))
    assert all(name == f"Artist {column}" for column, name in anchors.items())


def learner_of(encoder, data: TrainingData, number: int = 0, settings: TrainingSettings = QUICK) -> SplitLearner:
    training_set: TrainingSet = choose_training_set(data, settings)
    training_set = replace(training_set, vectors=encoder.restore(training_set.vectors))
    split = make_split(training_set.listening_data, number, n_relevant=training_set.n_relevant, seed=0)
    methods = ("paper", "mlr", "listener_space", "combined")
    return SplitLearner(
        encoder=encoder, training_set=training_set, settings=settings, methods=methods, split=split, stop=StopSignal()
    )


def held_out_of(learner: SplitLearner) -> np.ndarray:
    songs = learner.split.training.queries
    return np.setdiff1d(np.arange(60), learner.training_set.listening_data.song_artist[songs])


def test_songs_and_listens_of_held_out_artists_change_nothing_that_is_fitted(encoder, data):
    learner = learner_of(encoder, data)
    held_out = held_out_of(learner)
    random = np.random.default_rng(1)
    is_held_out = np.isin(data.song_artist, held_out)
    vectors = data.vectors.copy()
    vectors[is_held_out] = vectors[random.permutation(np.flatnonzero(is_held_out))] * 0.9 + 0.05
    vectors[is_held_out, :V] /= vectors[is_held_out, :V].sum(axis=1, keepdims=True)
    plays = data.all_plays.toarray()
    plays[:, held_out] = random.random((len(plays), len(held_out))) < 0.3
    changed = replace(data, vectors=vectors, all_plays=sp.csr_array(plays))
    other = learner_of(encoder, changed)
    first, second = learner.prepare(), other.prepare()
    training = learner.split.training.queries
    np.testing.assert_array_equal(first.space.songs.coordinates[training], second.space.songs.coordinates[training])
    np.testing.assert_array_equal(first.native[training], second.native[training])
    spaces = [prepared.space.fit(0.3) for prepared in (first, second)]
    for name, array in spaces[0].arrays().items():
        np.testing.assert_array_equal(array, spaces[1].arrays()[name], err_msg=name)
    for name in ("paper", "mlr"):
        grids = [part.metric_grid(songs, name, "auc") for part, songs in ((learner, first), (other, second))]
        for one_fit, other_fit in zip(*grids, strict=True):
            np.testing.assert_array_equal(one_fit.factor, other_fit.factor)


def test_artists_outside_the_library_take_part_and_held_out_ones_do_not(encoder, data):
    learner = learner_of(encoder, data)
    space = learner.prepare().space.fit(0.3)
    assert (space.popularity_[held_out_of(learner)] == 0).all()
    assert (space.popularity_[60:] > 0).any()


@pytest.mark.parametrize("share", [0.0, 0.5, 0.8])
def test_songs_in_the_span_of_the_training_songs_are_where_the_whole_space_puts_them(encoder, data, share):
    settings = replace(QUICK, centroid_shares=(share,))
    learner = learner_of(encoder, data, settings=settings)
    prepared = learner.prepare()
    table = prepared.space.embed(prepared.space.fit(0.3), share)
    fused = members_joined(encoder, fused_members(encoder))
    vectors = learner.training_set.vectors[:, columns_of(encoder, fused_members(encoder))]
    training, validation = learner.split.training.queries, learner.split.validation.queries
    fusion = Fusion.fit(vectors[training], fused.parts)
    phi = fusion.transform(vectors)
    held_out = held_out_of(learner)
    artists = learner.training_set.listening_data.song_artist
    space = ListenerSpace(penalty=0.3, sound_weight=1.0, centroid_share=share)
    parts = fusion.slices.values()
    space.fit(phi[training], artists[training], data.all_plays, held_out=held_out, parts=parts)
    queries = space.transform(phi)
    for songs in (training, validation):
        database = space.transform_database(phi[songs], artists[songs])
        expected = np.square(queries[:, None] - database[None]).sum(axis=2)
        found = np.square(table.queries[:, None] - table.database[songs][None]).sum(axis=2)
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_weights_of_blocks_are_those_of_spaces_fitted_with_them(encoder, data):
    learner = learner_of(encoder, data, settings=replace(QUICK, sound_weights=(0.1,), centroid_shares=(0.5,)))
    prepared = learner.prepare()
    grid = prepared.space.candidates([0.3], [0.5], [0.1])
    songs, training = prepared.space.songs, learner.split.training.queries
    space = ListenerSpace(penalty=0.3, sound_weight=0.1).fit(
        songs.coordinates[training],
        prepared.space.columns[training],
        data.all_plays,
        held_out=prepared.space.held_out,
        parts=songs.parts,
    )
    drawn = with_centroids(songs.coordinates, songs.artists, 0.5)
    sound = next(block.columns for block in space.blocks_ if block.kind == "sound")
    for found, rows in ((grid.embeddings.queries, songs.coordinates), (grid.embeddings.database, drawn)):
        taste = slice(0, sound.start)
        np.testing.assert_allclose(found[:, taste], space.transform(rows)[:, taste], atol=1e-12)
        assert found[training, sound] == pytest.approx(space.transform(rows)[training, sound], abs=1e-9)


def test_songs_without_a_vector_of_an_encoder_are_placed_by_the_others(encoder, data):
    vectors = data.vectors.copy()
    vectors[::7, V:] = np.nan
    settings = replace(QUICK, methods=("listener_space",), n_splits=1)
    report = fit_model(encoder, replace(data, vectors=vectors), settings).report
    assert 0.5 < report.score("listener_space") < 1


def test_permuted_listeners_give_no_model(encoder):
    settings = replace(QUICK, methods=("listener_space",), centroid_shares=(0.0, 0.8))
    decisions = [fit_model(encoder, planted(seed=seed, related=False), settings).report.decision for seed in range(3)]
    assert decisions == ["native"] * 3  # docs/decisions/0011-when-to-take-a-metric.md has more


def test_the_active_models_method_is_measured_again(encoder, data, trained):
    report = evaluate(encoder, data, QUICK, method=trained.report.method, choice=trained.report.choice)
    assert (report.decision, report.method in report.validation) == ("none", True)
    assert report.score(trained.report.method) == pytest.approx(trained.report.score(trained.report.method), abs=0.02)
    imported = evaluate(encoder, data, QUICK, model=trained.model, seen=True)
    assert [row.name for row in imported.rows] == ["random", "popularity", "native", "imported", "ceiling"]
    assert imported.score("imported") > imported.score("native")


def test_a_model_of_another_encoder_cannot_be_measured(encoder, data, trained):
    with pytest.raises(InvalidInputError, match="the model needs vectors of the encoder gaussian; analyse the songs"):
        evaluate(encoder.encoders[0], replace(data, vectors=data.vectors[:, :V]), QUICK, model=trained.model)


def test_methods_follow_from_the_encoders(encoder):
    codewords, gaussian = encoder.encoders
    assert methods_for(encoder, TrainingSettings()) == ("paper", "mlr", "listener_space", "combined")
    assert methods_for(codewords, TrainingSettings()) == ("paper", "listener_space")
    assert methods_for(gaussian, TrainingSettings()) == ("mlr", "listener_space", "combined")
    only = TrainingSettings(methods=("combined",))
    assert methods_for(codewords, only) == ("mlr", "listener_space", "combined")
    with pytest.raises(InvalidInputError, match="the method 'paper' needs codewords"):
        methods_for(gaussian, TrainingSettings(methods=("paper",)))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"methods": ("magic",)}, "method='magic'"),
        ({"methods": ()}, r"methods=\(\) must be a tuple with at least one value"),
        ({"centroid_shares": (1.0,)}, "centroid_shares has 1.0; use numbers from 0 to 0.95"),
        ({"penalties": (0.0,)}, "penalties"),
        ({"encoders": ("ears",)}, "Unknown encoder: 'ears'"),
    ],
)
def test_settings_that_cannot_work_are_refused(wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        TrainingSettings(**wrong)


class _Pretrained:
    name, parts = "musicnn", (VectorPart("musicnn", 4, 2.0),)


def test_a_pretrained_encoder_weighs_a_multiple_of_all_others(encoder):
    gaussian = encoder.encoders[1]

    class Both:
        encoders = (gaussian, _Pretrained())
        parts = (*gaussian.parts, *_Pretrained.parts)

    total = sum(part.weight for part in gaussian.parts)
    assert weighted_parts(Both(), 1.5)[-1].weight == pytest.approx(1.5 * total)
    assert weighted_parts(Both(), None)[-1].weight == 2.0
    assert weighted_parts(gaussian, 1.5) == list(gaussian.parts)
