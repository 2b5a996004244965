"""A seed -> a small music library: artists of eight styles as real audio files, and simulated listeners.

::

    FOLDER/music/<Artist>/<Album (Year)>/<NN Title>.<ending>    tagged, in six formats
    FOLDER/music/<Artist>/<Album (Year)>/cover.jpg              of every second artist
    FOLDER/listens.csv                                          user, artist, title, plays
    FOLDER/playlists/*.m3u8
    FOLDER/new/*.mp3                                            by artists nobody has heard of

Artists and listeners have tastes: three that are heard (calm or driven, acoustic or electronic, dark or bright) and
one that is not, as a scene or a language is. How an album was recorded is heard as well and nobody cares about it.
One song of every third artist is a new single that nobody has played yet.
"""

import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nearsong.audio.write import write_audio
from nearsong.errors import InvalidInputError
from nearsong.executor import run_tasks
from nearsong.library.demo_covers import cover
from nearsong.library.demo_listeners import (
    SongName,
    draw_picks,
    new_singles,
    write_listens,
    write_playlists,
    zipf_popularity,
)
from nearsong.library.demo_names import album_name, artist_names, listener_names, song_title
from nearsong.library.demo_recording import RECORDINGS, record
from nearsong.library.demo_styles import STYLES, perform
from nearsong.library.demo_synth import RATE
from nearsong.library.file_tags import write_tags
from nearsong.library.records import Tags
from nearsong.validation import check_count, check_in_range

FloatArray = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]

N_NEW = 2
"""New releases."""

# as often as listed here; MP3 takes longest to write
_ENDINGS = ("mp3", "flac", "ogg", "m4a", "opus", "wav", "mp3", "flac", "m4a", "flac")
_OWN_WAY = 0.35  # how far artists are from the middle of their style
_SCENE = 0.6  # spread of the taste that is not heard
_SONGS_MORE = (-1, 0, 1, 2)  # than usual
_SONGS_MORE_SHARE = (0.4, 0.3, 0.2, 0.1)  # 0 on average
_ELSEWHERE = 8  # artists that listeners play and the library lacks
_N_PLAYLISTS = 12
_YEARS = (1971, 2024)


@dataclass(frozen=True)
class DemoLibrary:
    """Where everything is.

    Attributes
    ----------
    music : Path
        The folder to scan.
    listens : Path
        The listening history, CSV.
    playlists : Path
        A folder of playlists.
    new : list of Path
        Songs by artists that are neither in the music folder nor in the listening history.
    styles : dict of str to str
        Each artist's style, those of the new songs included.
    """

    music: Path
    listens: Path
    playlists: Path
    new: list[Path]
    styles: dict[str, str]


@dataclass(frozen=True, eq=False)
class _Artist:
    name: str
    style: int
    taste: FloatArray  # three that are heard and one that is not
    habits: FloatArray
    mbid: str


@dataclass(frozen=True, eq=False)
class _SongTask:
    """Everything a worker needs to make a file."""

    path: Path
    tags: Tags
    style: int
    taste: tuple[float, ...]
    habits: tuple[float, ...]
    recording: int
    seconds: float
    seed: tuple[int, ...]


def make_demo_library(
    folder: str | os.PathLike[str],
    *,
    n_artists: int = 72,
    songs_an_artist: int = 3,
    seconds: float = 20.0,
    n_listeners: int = 400,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> DemoLibrary:
    """Synthesise music and simulate who listens to it.

    Parameters
    ----------
    folder : path-like
        Made if it is not there; must be empty.
    n_artists : int
        Artists of the library, of all styles alike.
    songs_an_artist : int
        Songs an artist has on average: from one fewer (one at least) to two more.
    seconds : float
        Length of a song.
    n_listeners : int
        Listeners in the history.
    seed : int
        The same seed gives the same sound, names, covers and listens. The bytes of compressed files may differ where
        other versions of the encoders are installed.
    workers : int, optional
        Processes; by default one a processor.
    progress : callable
        Told (stage, done, total).

    Returns
    -------
    DemoLibrary

    Raises
    ------
    InvalidInputError
        If the folder is not empty, or a number is out of range.
    """
    place = _new_folder(folder)
    check_count(n_artists, "n_artists", minimum=2)
    check_count(songs_an_artist, "songs_an_artist")
    check_in_range(seconds, "seconds", 0.5, 3_600)
    check_count(n_listeners, "n_listeners")
    check_count(seed, "seed", minimum=0)
    names = artist_names(n_artists + N_NEW + _ELSEWHERE, np.random.default_rng([seed, 0]))
    artists = _draw_artists(names, n_artists, seed)
    library, new = artists[:n_artists], artists[n_artists : n_artists + N_NEW]

    tasks = _library_tasks(place / "music", library, songs_an_artist, seconds, seed)
    n_in_library = len(tasks)
    tasks += _new_tasks(place / "new", new, seconds, seed)
    for task in tasks:
        task.path.parent.mkdir(parents=True, exist_ok=True)
    for done, _ in enumerate(run_tasks(_make_song, tasks, jobs=workers), start=1):
        progress("making music", done, len(tasks))
    covers = _cover_tasks(tasks[:n_in_library], seed)
    for done, _ in enumerate(run_tasks(_make_cover, covers, jobs=workers), start=1):
        progress("drawing covers", done, len(covers))

    _write_listeners(place, library, artists[n_artists + N_NEW :], tasks[:n_in_library], n_listeners, seed)
    return DemoLibrary(
        place / "music",
        place / "listens.csv",
        place / "playlists",
        [task.path for task in tasks[n_in_library:]],
        {artist.name: STYLES[artist.style].name for artist in library + new},
    )


def _new_folder(folder: str | os.PathLike[str]) -> Path:
    place = Path(folder)
    if place.is_file() or (place.is_dir() and any(place.iterdir())):
        raise InvalidInputError(f"{place} is not empty; a demo library needs a new folder.")
    place.mkdir(parents=True, exist_ok=True)
    return place


def _draw_artists(names: list[str], n_in_library: int, seed: int) -> list[_Artist]:
    """Return artists, those of the library spread evenly over the styles."""
    random = np.random.default_rng([seed, 1])
    in_library = random.permutation(np.arange(n_in_library) % len(STYLES))
    styles = [*in_library, *np.resize(random.permutation(len(STYLES)), len(names) - n_in_library)]
    artists = []
    for name, number in zip(names, styles, strict=True):
        style = int(number)
        heard = np.array(STYLES[style].place) + _OWN_WAY * random.standard_normal(3)
        taste = np.append(heard, _SCENE * random.standard_normal())
        artists.append(_Artist(name, style, taste, random.random(8), _mbid(random)))
    return artists


def _mbid(random: np.random.Generator) -> str:
    return str(uuid.UUID(bytes=random.bytes(16), version=4))


def _library_tasks(
    music: Path, artists: list[_Artist], songs_an_artist: int, seconds: float, seed: int
) -> list[_SongTask]:
    """Plan albums and songs: every album has its way of recording, its format, and MBIDs or none."""
    random = np.random.default_rng([seed, 2])
    tasks: list[_SongTask] = []
    taken: set[str] = set()
    n_albums = 0
    for artist in artists:
        n_songs = max(1, songs_an_artist + int(random.choice(_SONGS_MORE, p=_SONGS_MORE_SHARE)))
        names: set[str] = set()
        for part in np.array_split(np.arange(n_songs), max(1, round(0.6 * n_songs))):
            recording = int(random.integers(len(RECORDINGS)))
            album = album_name(RECORDINGS[recording].albums, random)
            if album in names:
                album = f"{album}, Volume {len(names) + 1}"
            names.add(album)
            year = int(random.integers(_YEARS[0], _YEARS[1], endpoint=True))
            ending = _ENDINGS[n_albums % len(_ENDINGS)]
            identified = bool(random.random() < 0.5)
            n_albums += 1
            for number in range(1, len(part) + 1):
                title = song_title(taken, random)
                tags = Tags(
                    artist.name,
                    title,
                    album,
                    STYLES[artist.style].name,
                    year,
                    _mbid(random) if identified else "",
                    artist.mbid if identified else "",
                )
                path = music / artist.name / f"{album} ({year})" / f"{number:02d} {title}.{ending}"
                tasks.append(_song_task(path, tags, artist, recording, seconds, (seed, 3, len(tasks))))
    return tasks


def _new_tasks(folder: Path, artists: list[_Artist], seconds: float, seed: int) -> list[_SongTask]:
    """Plan new releases: singles by artists nobody knows, one a band's own tape and one heard in a hall."""
    random = np.random.default_rng([seed, 4])
    tasks = []
    for number, artist in enumerate(artists):
        title = song_title(set(), random)
        tags = Tags(artist.name, title, title, STYLES[artist.style].name, _YEARS[1] + 1)
        path = folder / f"{artist.name} - {title}.mp3"
        tasks.append(_song_task(path, tags, artist, 1 + number % 2, seconds, (seed, 5, number)))
    return tasks


def _song_task(
    path: Path, tags: Tags, artist: _Artist, recording: int, seconds: float, seed: tuple[int, ...]
) -> _SongTask:
    taste, habits = tuple(artist.taste[:3].tolist()), tuple(artist.habits.tolist())
    return _SongTask(path, tags, artist.style, taste, habits, recording, seconds, seed)


def _make_song(task: _SongTask) -> None:
    """Synthesise, record, write and tag one song."""
    random = np.random.default_rng(task.seed)
    mix = perform(task.style, np.array(task.taste), np.array(task.habits), task.seconds, random)
    write_audio(task.path, record(mix, RECORDINGS[task.recording], random), RATE)
    write_tags(task.path, task.tags)


def _cover_tasks(songs: list[_SongTask], seed: int) -> list[tuple[Path, str, tuple[int, ...]]]:
    """Plan covers for the albums of every second artist: as in any library, the others have none."""
    albums = {song.path.parent: song.tags for song in songs}
    artists = list(dict.fromkeys(tags.artist for tags in albums.values()))
    illustrated = set(np.random.default_rng([seed, 7]).permutation(artists)[::2].tolist())
    return [
        (folder / "cover.jpg", tags.genre, (seed, 8, number))
        for number, (folder, tags) in enumerate(albums.items())
        if tags.artist in illustrated
    ]


def _make_cover(task: tuple[Path, str, tuple[int, ...]]) -> None:
    path, style, seed = task
    path.write_bytes(cover(style, seed))


def _write_listeners(
    place: Path, library: list[_Artist], elsewhere: list[_Artist], tasks: list[_SongTask], n_listeners: int, seed: int
) -> None:
    """Write the listening history and the playlists; some of what people play is not in the library."""
    random = np.random.default_rng([seed, 6])
    artists = library + elsewhere
    taken = {task.tags.title for task in tasks}
    songs: list[list[SongName]] = []
    for artist in artists:
        own = [task for task in tasks if task.tags.artist == artist.name]
        known = [
            SongName(
                artist.name, task.tags.title, (Path("..") / task.path.relative_to(place)).as_posix(), task.seconds
            )
            for task in own
        ]
        songs.append(known or [SongName(artist.name, song_title(taken, random), "", 0.0) for _ in range(2)])
    tastes = np.array([artist.taste for artist in artists])
    popularity = zipf_popularity(len(artists), random)
    picks = draw_picks(tastes, popularity, n_listeners, random)
    instead = new_singles(songs[: len(library)])
    write_listens(place / "listens.csv", listener_names(n_listeners, random), picks, songs, random, instead)
    own_picks = draw_picks(tastes[: len(library)], popularity[: len(library)], _N_PLAYLISTS, random)
    titles = [song_title(taken, random) for _ in range(_N_PLAYLISTS)]
    write_playlists(place / "playlists", titles, own_picks, songs, random, instead)
