"""The library from Python: a first evening, and what must hold afterwards."""

import json
import shutil

import numpy as np
import pytest
import soundfile

import music_library
from nearsong import SimilarityModel
from nearsong.errors import InvalidInputError, LibraryError, ListensError
from nearsong.library import Library, PlaylistRules, TrainingSettings


def test_training_learned_what_listeners_follow(trained):
    report = TrainingReport_of(trained)
    assert report.score("learned", "known") > report.score("native", "known")
    assert report.score("ceiling", "known") > 0.8
    same_style = [near.song.genre == song.genre for song in trained.songs() for near in trained.similar(song, n=5)]
    assert np.mean(same_style) > 0.9


def TrainingReport_of(library):
    from nearsong.library import TrainingReport

    facts = next(row.facts for row in library.models() if row.id == library.active_model)
    return TrainingReport.from_json(facts["report"])


def test_neighbours_are_ids_and_distances(trained):
    ids, distances = trained.neighbours(trained.songs()[0], n=4)
    assert ids.dtype == np.int64
    assert list(distances) == sorted(distances)
    assert [one.song.id for one in trained.similar(trained.songs()[0], n=4)] == ids.tolist()


def test_importing_the_same_file_twice_counts_once(trained, tmp_path):
    before = trained.match_report()
    again = trained.import_listens(music_library.write_listens(tmp_path / "copy of listens.csv"))
    assert [file.state for file in again] == ["known"]
    assert trained.match_report() == before


def test_a_newer_version_of_a_file_replaces_the_old(trained, tmp_path):
    path = music_library.write_listens(tmp_path / "mine.csv", seed=1)
    assert trained.import_listens(path)[0].state == "imported"
    music_library.write_listens(path, seed=2)
    assert trained.import_listens(path)[0].state == "replaced"
    assert [source.name for source in trained.listens()].count(str(path)) == 1


def test_what_was_not_found_is_named(trained):
    report = trained.match_report()
    assert ("Nobody's Own Band - Nowhere", 99.0) in report.most_played_unmatched


def test_a_bad_file_among_good_ones_is_left_out_and_reported(trained, tmp_path):
    good = music_library.write_listens(tmp_path / "good.csv", seed=3)
    bad = tmp_path / "bad.csv"
    bad.write_text("colour,shape\nred,round\n")
    files = {file.name: file for file in trained.import_listens(good, bad)}
    assert files[str(good)].state == "imported"
    assert files[str(bad)].state == "failed"
    assert "artist" in files[str(bad)].reason


def test_a_bad_file_alone_is_an_error_and_leaves_nothing(trained, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("colour,shape\nred,round\n")
    before = trained.listens()
    with pytest.raises(ListensError, match=r"bad\.csv"):
        trained.import_listens(bad)
    assert trained.listens() == before


def test_an_old_model_can_be_taken_back_and_answers_as_before(trained):
    native, learned = (row.id for row in trained.models())
    song = trained.songs()[0]
    with_learned = trained.neighbours(song, n=30)
    trained.use_model(native)
    with_native = trained.neighbours(song, n=30)
    assert not np.array_equal(with_native[0], with_learned[0])
    trained.use_model(learned)
    np.testing.assert_array_equal(trained.neighbours(song, n=30), with_learned)


def test_models_that_agree_share_all_neighbours(trained):
    native, learned = (row.id for row in trained.models())
    assert trained.compare_models(native, native) == 1.0
    assert 0 < trained.compare_models(native, learned) < 1


def test_the_model_in_use_cannot_be_removed(trained):
    native, learned = (row.id for row in trained.models())
    with pytest.raises(LibraryError, match=f"Model {learned} is in use"):
        trained.remove_model(learned)
    trained.remove_model(native)
    assert [row.id for row in trained.models()] == [learned]


def test_a_model_survives_export_and_import(trained, tmp_path):
    song = trained.songs()[0]
    before = trained.neighbours(song, n=20)
    trained.export_model(tmp_path / "model.npz")
    model_id, answers = trained.import_model(tmp_path / "model.npz")
    assert answers
    assert trained.active_model == model_id
    np.testing.assert_array_equal(trained.neighbours(song, n=20), before)
    assert SimilarityModel.load(tmp_path / "model.npz").rank == trained.space.model.rank


def test_a_model_with_another_codebook_answers_after_the_next_scan(trained, styled_music, tmp_path):
    other, song = tmp_path / "other", trained.songs()[0].path  # the other library has it under another number
    with Library.open(other / "library.sqlite") as library:
        library.scan(styled_music, workers=2, seed=5)
        library.export_model(tmp_path / "foreign.npz")
        expected = library.neighbours(song, n=10)[1]
    model_id, answers = trained.import_model(tmp_path / "foreign.npz")
    assert not answers
    assert trained.active_model != model_id
    report = trained.scan(workers=2)
    assert report.reanalysed == len(trained.songs())
    assert trained.active_model == model_id
    np.testing.assert_allclose(trained.neighbours(song, n=10)[1], expected, rtol=1e-5)


def test_new_songs_get_an_embedding_under_the_learned_model(trained, tmp_path):
    folder = tmp_path / "more" / "New Band" / "Debut"
    folder.mkdir(parents=True)
    soundfile.write(folder / "01 First.wav", music_library.sound(0, seed=77), music_library.RATE)
    assert trained.scan(tmp_path / "more", workers=1).added == 1
    song = trained.find("New Band - First")
    model = trained.space.model
    blocks = model.encoder.blocks(model.encode(song.path)[np.newaxis])
    stored = [
        block.astype(member.storage_dtype) for member, block in zip(model.encoder.encoders, blocks, strict=True)
    ]
    expected = model.project(np.concatenate(stored, axis=1, dtype=np.float32))[0]
    np.testing.assert_allclose(trained.space.embedding_of(song), expected, rtol=1e-4, atol=1e-5)


def test_training_without_listens_says_what_to_do(styled_music, tmp_path):
    with Library.open(tmp_path) as library:
        with pytest.raises(LibraryError, match="has no songs yet"):
            library.train()
        with pytest.raises(LibraryError, match="nearsong scan FOLDER"):
            library.similar("anything")
        folder = tmp_path / "few"
        for artist in sorted(styled_music.iterdir())[:3]:
            shutil.copytree(artist, folder / artist.name)
        library.scan(folder, workers=1)
        with pytest.raises(LibraryError, match="no listening history has been imported yet"):
            library.train()


def test_too_few_artists_keep_the_native_metric_and_say_what_would_help(styled_music, tmp_path):
    folder = tmp_path / "few"
    for artist in sorted(styled_music.iterdir())[:6]:
        shutil.copytree(artist, folder / artist.name)
    with Library.open(tmp_path / "l.sqlite") as library:
        library.scan(folder, workers=1)
        library.import_listens(music_library.write_listens(tmp_path / "listens.csv"))
        native = library.active_model
        report = library.train()
        assert library.active_model == native
        assert report.decision == "native"
        assert report.reason


def test_evaluate_changes_nothing_and_agrees_with_the_training(trained):
    before = (trained.active_model, len(trained.models()))
    report = trained.evaluate()
    assert (trained.active_model, len(trained.models())) == before
    assert report.score("native", "known") == pytest.approx(
        TrainingReport_of(trained).score("native", "known"), abs=1e-9
    )


def test_training_twice_with_one_seed_gives_the_same_model(trained):
    first = trained.load_model()
    trained.train(TrainingSettings(seed=0))
    second = trained.load_model()
    assert dict(first.trained_on) == dict(second.trained_on)
    for one, other in zip(first.projector.arrays().values(), second.projector.arrays().values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_a_playlist_has_its_length_and_no_artist_twice_within_the_gap(trained):
    songs, _ = trained.playlist(trained.songs()[0], rules=PlaylistRules(length=20, artist_gap=4, diversity=0.3))
    assert len(songs) == len({song.id for song in songs}) == 20
    for i, song in enumerate(songs):
        assert song.artist_key not in {other.artist_key for other in songs[max(0, i - 3) : i]}


def test_a_walk_goes_from_the_one_to_the_other(trained):
    first, last = trained.songs()[0], trained.songs()[-1]
    songs, _ = trained.playlist(first, to=last, rules=PlaylistRules(length=8))
    assert songs[0] == first
    assert songs[-1] == last
    with pytest.raises(InvalidInputError, match="takes exactly one seed"):
        trained.playlist(first, last, to=last)


def test_a_playlist_may_begin_with_a_file_outside(trained, tmp_path):
    path = tmp_path / "new.wav"
    soundfile.write(path, music_library.sound(1, seed=4321), music_library.RATE)
    songs, _ = trained.playlist(path, rules=PlaylistRules(length=6))
    assert len(songs) == 6
    assert sum(song.genre == "mid hiss" for song in songs) >= 5


def test_why_says_what_listeners_and_sound_say(trained):
    song = trained.songs()[0]
    near = trained.similar(song, n=3)
    for reason, one in zip(trained.why(song, *(one.song for one in near)), near, strict=True):
        assert reason.distance == pytest.approx(one.distance, rel=1e-5)
        assert reason.closeness == pytest.approx(one.closeness, rel=1e-5)
        assert reason.sentences()[0] == reason.lead
        json.dumps(reason.as_json())


def test_the_listeners_overlap_is_counted_right(trained, tmp_path):
    songs = trained.songs()
    query, other = (
        songs[0],
        next(song for song in songs if song.genre == songs[0].genre and song.artist != songs[0].artist),
    )
    overlap = trained.why(query, other)[0].listeners
    plays = {}
    for line in music_library.write_listens(tmp_path / "l.csv").read_text().splitlines()[1:]:
        user, artist, _, _ = line.split(",")
        plays.setdefault(artist, set()).add(user)
    a, b = plays[query.artist], plays[other.artist]
    assert (overlap.shared, overlap.query, overlap.other) == (len(a & b), len(a), len(b))
    assert overlap.jaccard == pytest.approx(len(a & b) / len(a | b))
    ranked = sorted((-round(len(a & c) / len(a | c), 12), name) for name, c in plays.items() if name != query.artist)
    assert overlap.rank == 1 + [name for _, name in ranked].index(other.artist)


def test_the_map_is_one_page_with_every_song(trained, tmp_path):
    page = trained.map(tmp_path / "map.html").read_text()
    assert all(song.title in page for song in trained.songs())
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_status_says_what_to_do_next(tmp_path, styled_music, trained):
    with Library.open(tmp_path / "empty.sqlite") as library:
        assert library.status().next[0].startswith("Scan a folder")
    status = trained.status()
    assert status.songs == music_library.N_ARTISTS * music_library.SONGS_EACH
    assert status.artists == music_library.N_ARTISTS
    assert status.model["kind"] == "learned"
    assert status.next[0].startswith("Find similar songs:")


def test_a_change_by_another_process_is_seen(trained, tmp_path):
    song = trained.songs()[0]
    before = trained.neighbours(song, n=5)[0]
    with Library.open(tmp_path / "library.sqlite") as other:
        other.use_model(next(row.id for row in other.models() if row.kind == "native"))
    assert not np.array_equal(trained.neighbours(song, n=40)[1][:5], before)
    assert trained.space.model_id == trained.active_model
