"""What holds when files are removed, models change under a question, people share a path, or a model comes home."""

import shutil

import numpy as np
import pytest
import soundfile

import music_library
from nearsong.errors import LibraryError
from nearsong.library import Library


@pytest.fixture
def movable(styled_music, tmp_path):
    """A small library of the paper's encoder, whose sounds have names, and whose files may be removed."""
    for artist in sorted(styled_music.iterdir())[:8]:
        shutil.copytree(artist, tmp_path / "music" / artist.name)
    with Library.open(tmp_path / "l.sqlite") as library:
        library.scan(tmp_path / "music", workers=1, encoders=("codewords",))
        yield library, tmp_path / "music"


def other_codebook(tmp_path, music):
    with Library.open(tmp_path / "other" / "l.sqlite") as library:
        library.scan(music, workers=1, seed=9, encoders=("codewords",))
        library.export_model(tmp_path / "foreign.npz")
    return tmp_path / "foreign.npz"


def test_why_does_not_mind_songs_whose_files_are_gone(movable):
    library, music = movable
    song = library.songs()[0]
    gone = sorted(music.iterdir())[3]
    shutil.move(gone, music.parent / "away")
    library.scan(workers=1)
    others = [other for other in library.songs() if other.id != song.id][:4]
    reasons = library.why(song, *others)
    assert all(reason.sentences() for reason in reasons)
    artists = {one.artist for reason in reasons for songs in reason.examples.values() for one in songs}
    assert artists
    assert gone.name not in artists


def test_a_song_whose_file_is_gone_says_so_when_asked_for(movable):
    library, music = movable
    gone = next(song for song in library.songs() if song.artist == sorted(music.iterdir())[3].name)
    shutil.move(music / gone.artist, music.parent / "away")
    library.scan(workers=1)
    with pytest.raises(LibraryError, match=f"the file of song {gone.id} is missing"):
        library.similar(gone.id)


def test_a_folder_scanned_again_by_way_of_a_link_is_the_same_folder(movable, tmp_path):
    library, music = movable
    (tmp_path / "link").symlink_to(music)
    report = library.scan(tmp_path / "link", workers=1)
    assert (report.added, report.copied) == (0, 0)
    assert report.unchanged == len(library.songs())
    song = library.songs()[0]
    linked = song.path.replace(str(music), str(tmp_path / "link"))
    assert library.snapshot().seed(linked).song == song


def test_copies_of_an_answer_are_listed_once(movable, tmp_path):
    library, music = movable
    shutil.copytree(music, tmp_path / "copies")
    assert library.scan(tmp_path / "copies", workers=1).copied == 16
    near = library.similar(library.songs()[0], n=30)
    names = [one.song.name for one in near]
    assert len(names) == len(set(names)) == 15


def test_training_waits_until_all_songs_are_analysed_with_a_new_codebook(movable, tmp_path):
    library, music = movable
    library.import_listens(music_library.write_listens(tmp_path / "l.csv"))
    library.import_model(other_codebook(tmp_path, music))
    with pytest.raises(LibraryError, match="16 songs are not analysed with the new encoder yet"):
        library.train()
    with pytest.raises(LibraryError, match="16 songs are not analysed with the new encoder yet"):
        library.evaluate()


def test_going_back_to_a_model_with_another_codebook_waits_for_songs_it_has_not_analysed(movable, tmp_path):
    library, music = movable
    first = library.active_model
    second, _ = library.import_model(other_codebook(tmp_path, music))
    library.scan(workers=1)
    assert library.active_model == second
    folder = tmp_path / "more" / "New Band" / "Debut"
    folder.mkdir(parents=True)
    soundfile.write(folder / "01 First.wav", music_library.sound(0, seed=5), music_library.RATE)
    library.scan(tmp_path / "more", workers=1)
    assert library.use_model(first) == 1
    assert library.active_model == second
    assert "1 song is not analysed yet" in library.status().next[0]
    library.scan(workers=1)
    assert library.active_model == first
    assert len(library.songs()) == 17


def test_a_seed_of_an_earlier_model_is_asked_for_again(trained, tmp_path):
    path = tmp_path / "new.wav"
    soundfile.write(path, music_library.sound(1, seed=99), music_library.RATE)
    seeds = [trained.snapshot().seed(seed) for seed in (path, trained.songs()[3])]
    native = next(row.id for row in trained.models() if row.kind == "native")
    trained.use_model(native)
    for seed, fresh in zip(seeds, map(trained.snapshot().seed, (path, seeds[1].song)), strict=True):
        ours, theirs = trained.neighbours(seed, n=5), trained.neighbours(fresh, n=5)
        np.testing.assert_array_equal(ours, theirs)


def test_two_people_may_use_one_path_in_turn(trained, tmp_path):
    path = music_library.write_listens(tmp_path / "export.csv", n_users=1, seed=1)
    assert trained.import_listens(path, user="anna")[0].state == "imported"
    music_library.write_listens(path, n_users=1, seed=2)
    assert trained.import_listens(path, user="bob")[0].state == "imported"
    assert len(trained.listens()) == 3


def test_a_model_that_comes_home_is_not_called_held_out(trained, tmp_path):
    trained.export_model(tmp_path / "mine.npz")
    trained.import_model(tmp_path / "mine.npz")
    from nearsong.library.training.wording import sentences

    report = trained.evaluate()
    assert report.score("imported", "known") is not None
    assert any("was trained on these listens" in sentence for sentence in sentences(report))


def test_with_several_seeds_the_distance_is_that_to_the_nearest(trained):
    seeds = trained.songs()[0], trained.songs()[30]
    embeddings = trained.space.embeddings.astype(float)
    for one in trained.similar(*seeds, n=6):
        embedding = trained.space.embedding_of(one.song)
        distances = [np.linalg.norm(trained.space.embedding_of(seed).astype(float) - embedding) for seed in seeds]
        assert one.distance == pytest.approx(min(distances), rel=1e-6)
    assert len(embeddings) == len(trained.songs())


def test_a_refused_training_is_not_advised_again_until_something_changes(movable, tmp_path):
    library, _ = movable
    library.import_listens(music_library.write_listens(tmp_path / "l.csv"))
    assert any("nearsong train" in advice for advice in library.status().next)
    assert library.train().decision == "native"
    assert not any("nearsong train" in advice for advice in library.status().next)
    library.import_listens(music_library.write_listens(tmp_path / "more.csv", seed=3))
    assert any("nearsong train" in advice for advice in library.status().next)
