import csv
import io
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from nearsong.audio import DeltaMFCC, load_audio
from nearsong.audio.tags import read_tags
from nearsong.audio.write import EXTENSIONS
from nearsong.demo import synth
from nearsong.demo.covers import SIDE_PIXELS, cover
from nearsong.demo.listeners import draw_picks, zipf_popularity
from nearsong.demo.music import N_NEW, make_demo_library
from nearsong.demo.names import MAX_ARTISTS, album_name, artist_names, listener_names, song_title
from nearsong.demo.recording import RECORDINGS, record
from nearsong.demo.styles import STYLES, perform
from nearsong.errors import InvalidInputError
from nearsong.names import artist_key

SECONDS = 3.0


def make(folder: Path, **settings):
    return make_demo_library(
        folder, **{"n_artists": 4, "seconds": SECONDS, "n_listeners": 40, "workers": 1, **settings}
    )


def files_below(folder: Path) -> dict[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def songs_below(folder: Path) -> dict[str, Path]:
    return {name: path for name, path in files_below(folder).items() if path.name != "cover.jpg"}


def rows_of(listens: Path) -> list[dict[str, str]]:
    with listens.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return make(tmp_path_factory.mktemp("demo") / "library", songs_an_artist=5)


# ---- the folder


def test_songs_lie_in_folders_of_artist_and_album_and_are_tagged_with_the_same_words(library):
    songs = songs_below(library.music)
    assert len({path.split("/")[0] for path in songs}) == 4
    identified = 0
    for name, path in songs.items():
        artist, album, file = name.split("/")
        tags = read_tags(path)
        assert (artist, album) == (tags.artist, f"{tags.album} ({tags.year})")
        assert file[:3].rstrip().isdigit()
        assert file[3:].rsplit(".", 1)[0] == tags.title
        assert tags.genre == library.styles[artist]
        assert bool(tags.recording_mbid) == bool(tags.artist_mbid)
        identified += bool(tags.recording_mbid)
    assert 0 < identified < len(songs)


def test_every_format_occurs_an_album_has_one_and_all_can_be_decoded_completely(library):
    songs = songs_below(library.music)
    assert {path.suffix[1:] for path in songs.values()} == set(EXTENSIONS)
    endings = defaultdict(set)
    for path in songs.values():
        endings[path.parent].add(path.suffix)
        samples = load_audio(path)
        assert len(samples) == pytest.approx(SECONDS * 22_050, abs=0.1 * 22_050)
        assert np.abs(samples).max() > 0.02
    assert {len(kinds) for kinds in endings.values()} == {1}


def test_new_songs_are_by_artists_that_the_library_and_its_listeners_do_not_know(library):
    assert len(library.new) == N_NEW
    known = {artist_key(path.name) for path in library.music.iterdir()}
    played = {artist_key(row["artist"]) for row in rows_of(library.listens)}
    for path in library.new:
        tags = read_tags(path)
        assert path.suffix == ".mp3"
        assert path.stem == f"{tags.artist} - {tags.title}"
        assert library.styles[tags.artist] == tags.genre
        assert artist_key(tags.artist) not in known | played
        assert len(load_audio(path)) > 2 * 22_050
    assert len({read_tags(path).genre for path in library.new}) == N_NEW


def test_listeners_play_songs_of_the_library_and_some_that_it_lacks(library):
    rows = rows_of(library.listens)
    assert len({row["user"] for row in rows}) == 40
    assert min(int(row["plays"]) for row in rows) >= 1
    of_library = {
        (artist_key(tags.artist), tags.title.lower())
        for tags in (read_tags(path) for path in songs_below(library.music).values())
    }
    artists = {artist for artist, _ in of_library}
    played = {(artist_key(row["artist"]), row["title"].lower()) for row in rows}
    assert {song for song in played if song[0] in artists} <= of_library
    assert any(song[0] not in artists for song in played)


def test_playlists_point_at_files_of_the_library(library):
    playlists = sorted(library.playlists.iterdir())
    assert len(playlists) >= 5
    for playlist in playlists:
        lines = playlist.read_text(encoding="utf-8").splitlines()
        assert lines[0] == "#EXTM3U"
        entries = [line for line in lines if not line.startswith("#")]
        assert entries
        assert len(set(entries)) == len(entries)
        for entry in entries:
            assert (playlist.parent / entry).resolve().is_relative_to(library.music.resolve())
            assert (playlist.parent / entry).is_file()


def test_artists_have_different_numbers_of_songs_three_on_average(tmp_path, monkeypatch):
    monkeypatch.setattr("nearsong.demo.music.synthesise_song", lambda task: task.path.write_bytes(b"no sound"))
    monkeypatch.setattr("nearsong.demo.music.draw_cover", lambda task: None)
    made = make(tmp_path / "many", n_artists=80)
    counts = [len(songs_below(artist)) for artist in made.music.iterdir()]
    assert set(counts) == {2, 3, 4, 5}
    assert np.mean(counts) == pytest.approx(3, abs=0.3)
    assert sorted(np.unique(list(made.styles.values()))) == sorted(style.name for style in STYLES)


# ---- covers


def test_all_albums_of_every_second_artist_have_a_cover_and_the_others_none(library):
    illustrated = []
    for artist in library.music.iterdir():
        albums = [(album / "cover.jpg").exists() for album in artist.iterdir()]
        assert len(set(albums)) == 1
        illustrated.append(albums[0])
    assert sorted(illustrated) == [False, False, True, True]


def test_covers_are_small_square_pictures_and_each_is_another():
    pictures = [cover(style.name, (0, 8, n)) for style in STYLES for n in range(3)]
    assert len(set(pictures)) == len(pictures)
    for data in pictures:
        assert len(data) < 60_000
        with Image.open(io.BytesIO(data)) as image:
            assert (image.format, image.size) == ("JPEG", (SIDE_PIXELS, SIDE_PIXELS))
            assert np.asarray(image.convert("L")).std() > 10  # there is something to see


def test_a_cover_is_the_same_for_the_same_seed_and_styles_have_colours_of_their_own():
    assert cover("Heavy", (1, 2)) == cover("Heavy", (1, 2))
    means = [np.asarray(Image.open(io.BytesIO(cover(style.name, (0,))))).mean(axis=(0, 1)) for style in STYLES]
    apart = np.linalg.norm(np.array(means)[:, None] - np.array(means), axis=2)
    assert apart[np.triu_indices(len(STYLES), 1)].min() > 10


def test_a_style_without_colours_is_named():
    with pytest.raises(InvalidInputError, match=r"^style 'Polka' is unknown; choose one of Ambient, Techno, "):
        cover("Polka", (0,))


# ---- the same again


def test_the_same_seed_gives_the_same_files_in_any_number_of_processes(tmp_path):
    seen = []
    one = make(tmp_path / "one", songs_an_artist=1, seconds=1.0, progress=lambda *step: seen.append(step))
    two = make(tmp_path / "two", songs_an_artist=1, seconds=1.0, workers=2)
    first, second = files_below(one.music.parent), files_below(two.music.parent)
    assert list(first) == list(second)
    assert one.styles == two.styles
    for name in first:
        if first[name].suffix in (".wav", ".flac", ".csv", ".m3u8", ".jpg"):  # others may hold random serial numbers
            assert first[name].read_bytes() == second[name].read_bytes(), name
        else:
            np.testing.assert_array_equal(load_audio(first[name]), load_audio(second[name]))
            assert read_tags(first[name]) == read_tags(second[name])
    n_songs, n_covers = len(songs_below(one.music)) + N_NEW, len(list(one.music.rglob("cover.jpg")))
    assert seen == [
        *(("making music", done, n_songs) for done in range(1, n_songs + 1)),
        *(("drawing covers", done, n_covers) for done in range(1, n_covers + 1)),
    ]


def test_another_seed_gives_other_artists(tmp_path):
    one, two = (make(tmp_path / str(seed), seconds=0.6, songs_an_artist=1, seed=seed) for seed in (0, 1))
    assert not set(one.styles) & set(two.styles)


# ---- what cannot be


def test_a_folder_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("keep me")
    with pytest.raises(InvalidInputError, match="is not empty; a demo library needs a new folder"):
        make_demo_library(tmp_path)
    with pytest.raises(InvalidInputError, match="is not empty"):
        make_demo_library(tmp_path / "mine.txt")
    assert (tmp_path / "mine.txt").read_text() == "keep me"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_artists": 1}, "n_artists=1 must be a whole number of at least 2"),
        ({"songs_an_artist": 0}, "songs_an_artist=0 must be a whole number of at least 1"),
        ({"seconds": 0.1}, "seconds=0.1 must be a number between 0.5 and 3600"),
        ({"n_listeners": 0}, "n_listeners=0 must be a whole number of at least 1"),
        ({"seed": -1}, "seed=-1 must be a whole number of at least 0"),
        ({"n_artists": 5_000}, "more than there are names for; choose at most 2500"),
    ],
)
def test_numbers_out_of_range_are_refused(tmp_path, settings, message):
    with pytest.raises(InvalidInputError, match=message):
        make(tmp_path / "new", **settings)


# ---- names


def test_all_artist_names_are_different_to_whoever_compares_them():
    names = artist_names(MAX_ARTISTS, np.random.default_rng(0))
    assert len({artist_key(name) for name in names}) == MAX_ARTISTS
    assert all(2 <= len(name.split()) <= 3 and name.replace(" ", "").isalpha() for name in names)


def test_titles_are_different_and_can_be_names_of_files():
    random = np.random.default_rng(0)
    taken: set[str] = set()
    titles = [song_title(taken, random) for _ in range(3_000)]
    assert len(set(titles)) == 3_000
    albums = [album_name(how.albums, random) for how in RECORDINGS for _ in range(50)]
    for name in titles + albums:
        assert not set(name) & set('/\\:*?"<>|')
        assert name == name.strip()
        assert "{" not in name
    assert not any(" a A" in f" {title}" or " a O" in f" {title}" for title in titles)
    names = listener_names(700, random)
    assert len(set(names)) == 700


# ---- listeners


def test_popularity_has_a_long_tail_and_so_have_the_listeners():
    random = np.random.default_rng(0)
    tastes = np.array([STYLES[i % 8].taste for i in range(72)]) + 0.35 * random.standard_normal((72, 3))
    picks = draw_picks(tastes, zipf_popularity(72, random), 400, random)
    listeners = np.bincount(np.concatenate(picks), minlength=72)
    assert listeners.max() > 4 * np.median(listeners)
    assert np.sort(listeners)[:7].max() < np.median(listeners) / 2
    sizes = np.array([len(row) for row in picks])
    assert sizes.min() >= 2
    assert sizes.max() > 2 * np.median(sizes)
    assert all(len(set(row.tolist())) == len(row) for row in picks)


def test_listeners_of_an_artist_like_others_of_similar_taste():
    random = np.random.default_rng(1)
    tastes = np.repeat([[-1.5, 0.0, 0.0], [1.5, 0.0, 0.0]], 10, axis=0)
    picks = draw_picks(tastes, np.full(20, 0.05), 300, random)
    alike = [np.mean(row // 10 == row[0] // 10) for row in picks if len(row) <= 10]
    assert np.mean(alike) > 0.85


# ---- sound


@pytest.mark.parametrize("number", range(len(STYLES)))
def test_every_style_sounds_throughout_and_styles_differ(number):
    taste, habits = np.array(STYLES[number].taste), np.full(8, 0.4)
    sound = perform(number, taste, habits, 8.0, np.random.default_rng(3))
    assert sound.shape == (2, 8 * synth.RATE)
    assert np.isfinite(sound).all()
    assert np.abs(sound.mean(axis=1)).max() < 0.05
    seconds = np.square(sound).mean(axis=0).reshape(8, -1).mean(axis=1)
    assert seconds.min() > 0.01  # no second is silent; the mean power is at least 1
    other = perform((number + 1) % len(STYLES), taste, habits, 8.0, np.random.default_rng(3))
    assert abs(np.corrcoef(sound.ravel(), other.ravel())[0, 1]) < 0.5


@pytest.mark.parametrize("how", RECORDINGS, ids=lambda how: how.name)
def test_recordings_never_clip_have_no_offset_and_begin_and_end_in_silence(how):
    mix = perform(5, np.array(STYLES[5].taste), np.full(8, 0.5), 4.0, np.random.default_rng(0))
    sound = record(mix, how, np.random.default_rng(1))
    assert sound.shape == ((4 * synth.RATE,) if how.mono else (4 * synth.RATE, 2))
    assert np.abs(sound).max() < 0.9
    assert abs(sound.mean()) < 1e-3
    assert np.abs(sound[:5]).max() < 0.01
    assert np.abs(sound[-5:]).max() < 0.01
    level = 20 * np.log10(np.sqrt(np.mean(np.square(sound))))
    assert level == pytest.approx(how.loudness, abs=5)


def test_a_recording_keeps_the_frequencies_between_its_edges_and_loses_the_others():
    noise = np.random.default_rng(0).standard_normal((2, 4 * synth.RATE)).astype(np.float32)
    radio = next(how for how in RECORDINGS if how.name == "radio")
    power = np.abs(np.fft.rfft(record(noise, radio, np.random.default_rng(1)))) ** 2
    frequency = np.fft.rfftfreq(4 * synth.RATE, 1 / synth.RATE)

    def mean(low: float, high: float) -> float:
        return float(power[(frequency > low) & (frequency < high)].mean())

    assert mean(1_000, 2_000) > 20 * mean(20, 100)
    assert mean(1_000, 2_000) > 20 * mean(8_000, 11_000)


def test_the_colour_of_a_sound_says_more_about_its_recording_than_about_its_style():
    features = DeltaMFCC()
    songs = []
    for style in range(len(STYLES)):
        mix = perform(style, np.array(STYLES[style].taste), np.full(8, 0.5), 2.0, np.random.default_rng(style))
        for how in RECORDINGS:
            sound = record(mix, how, np.random.default_rng(style))
            frames = features.transform(sound if how.mono else sound.mean(axis=1))
            songs.append(frames[:, :13].mean(axis=0))  # without derivatives: the colour of the sound
    scores = (np.array(songs) - np.mean(songs, axis=0)) / np.std(songs, axis=0)
    distances = np.linalg.norm(scores[:, None] - scores, axis=2)
    style, how = np.divmod(np.arange(len(songs)), len(RECORDINGS))
    same_style = (style[:, None] == style) & (how[:, None] != how)
    same_recording = (style[:, None] != style) & (how[:, None] == how)
    neither = (style[:, None] != style) & (how[:, None] != how)
    assert distances[same_recording].mean() < distances[same_style].mean() < distances[neither].mean()


def test_oscillators_have_the_partials_their_shape_says_and_no_aliases():
    n = synth.RATE  # so that bin k is k Hz
    for shape, expected in {
        "saw": [1, 1 / 2, 1 / 3, 1 / 4],
        "square": [1, 0, 1 / 3, 0],
        "triangle": [1, 0, 1 / 9, 0],
        "sine": [1, 0, 0, 0],
    }.items():
        spectrum = np.abs(np.fft.rfft(synth.oscillator(shape, 1_000.0, n))) / n * 2
        np.testing.assert_allclose(spectrum[[1_000, 2_000, 3_000, 4_000]], 0.5 * np.array(expected), atol=2e-3)
        spectrum[::1_000] = 0
        assert spectrum.max() < 2e-3


@pytest.mark.parametrize("frequency", [82.4, 196.0, 523.25])
def test_a_plucked_string_has_its_pitch_and_fades(frequency):
    random = np.random.default_rng(0)
    note = synth.pluck(frequency, 2.0, random, ring=1.5, softness=0.3, position=0.2)
    spectrum = np.abs(np.fft.rfft(note * np.hanning(len(note)), 8 * len(note)))
    hertz = np.fft.rfftfreq(8 * len(note), 1 / synth.RATE)
    near = (hertz > 0.9 * frequency) & (hertz < 1.1 * frequency)
    assert hertz[near][spectrum[near].argmax()] == pytest.approx(frequency, rel=0.004)
    assert np.std(note[-synth.RATE // 2 :]) < 0.05 * np.std(note[: synth.RATE // 2])


def test_envelopes_begin_and_end_in_silence_and_stay_between_0_and_1():
    for envelope in (
        synth.swell(1_000, 0.01, 0.02),
        synth.swell(3, 1, 1),
        synth.decay(5_000, 0.1),
        synth.swell(1, 1, 1),
    ):
        assert envelope.min() >= 0
        assert envelope.max() <= 1
    assert synth.swell(1_000, 0.01, 0.02)[[0, -1]].max() < 0.01


def test_a_note_beyond_the_end_of_a_mix_is_cut_and_pan_keeps_the_power():
    mix = synth.Mix(1.0)
    mix.add(np.ones(1_000, dtype=np.float32), 0.99, gain=0.5, pan=-1.0)
    mix.add(np.ones(1_000, dtype=np.float32), 5.0)
    np.testing.assert_allclose(np.square(mix.sound).sum(), 240 * 0.25, rtol=1e-5)
    assert np.abs(mix.sound[1]).max() < 1e-6
