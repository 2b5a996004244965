"""A seed -> a small music library: artists of eight styles as real audio files, and simulated listeners.

::

    FOLDER/music/<Artist>/<Album (Year)>/<NN Title>.<ending>    tagged, in six formats
    FOLDER/music/<Artist>/<Album (Year)>/cover.jpg              of every second artist
    FOLDER/listens.csv                                          user, artist, title, plays
    FOLDER/playlists/*.m3u8
    FOLDER/new/*.mp3                                            by artists without listeners

Artists and listeners have tastes: three that are audible (calm or driven, acoustic or electronic, dark or bright) and
one that is not, such as a scene or a language. How an album was recorded is audible too, but does not matter to
listeners. One song of every third artist is a new single that nobody has played yet.
"""

import os
import uuid
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nearsong.audio.tags import Tags, write_tags
from nearsong.audio.write import write_audio
from nearsong.demo.covers import cover
from nearsong.demo.listeners import (
    SongName,
    draw_picks,
    new_singles,
    write_listens,
    write_playlists,
    zipf_popularity,
)
from nearsong.demo.names import album_name, artist_names, listener_names, song_title
from nearsong.demo.recording import RECORDINGS, record
from nearsong.demo.styles import STYLES, perform
from nearsong.demo.synth import RATE
from nearsong.errors import InvalidInputError
from nearsong.executor import run_tasks
from nearsong.types import FloatArray, Progress
from nearsong.validation import check_count, check_in_range

N_NEW = 2
"""Number of songs by new artists."""

# in this proportion; MP3 takes longest to write
_EXTENSIONS = ("mp3", "flac", "ogg", "m4a", "opus", "wav", "mp3", "flac", "m4a", "flac")
_STYLE_SPREAD = 0.35  # of the tastes of artists around their style
_SCENE_SPREAD = 0.6  # of the taste that is not audible
_EXTRA_SONGS = (-1, 0, 1, 2)  # per artist
_EXTRA_SONGS_SHARES = (0.4, 0.3, 0.2, 0.1)  # 0 on average
_N_MISSING = 8  # artists that listeners play and the library lacks
_N_PLAYLISTS = 12
_YEARS = (1971, 2024)


@dataclass(frozen=True)
class DemoLibrary:
    """The files of a demo library.

    Attributes
    ----------
    music : Path
        Folder to scan.
    listens : Path
        Listening history, CSV.
    playlists : Path
        Folder of playlists.
    new : list of Path
        Songs by artists that are neither in the music folder nor in the listening history.
    styles : dict of str to str
        The style of each artist, including those of the new songs.
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
    taste: FloatArray  # three that are audible and one that is not
    habits: FloatArray
    mbid: str


@dataclass(frozen=True, eq=False)
class _SongTask:
    """The parameters of one audio file, for a worker."""

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
    """Synthesise music and simulate its listeners.

    Parameters
    ----------
    folder : path-like
        Created if missing; must be empty.
    n_artists : int
        Artists in the library, spread evenly over the styles.
    songs_an_artist : int
        Average number of songs per artist: each has from one fewer (at least one) to two more.
    seconds : float
        Length of each song.
    n_listeners : int
        Listeners in the listening history.
    seed : int
        The same seed gives the same audio, names, covers and listens. The bytes of compressed files may depend on the
        versions of the encoders.
    workers : int, optional
        Number of processes, by default one per processor.
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    InvalidInputError
        If the folder is not empty, or a number is out of range.
    """
    root = _new_folder(folder)
    check_count(n_artists, "n_artists", minimum=2)
    check_count(songs_an_artist, "songs_an_artist")
    check_in_range(seconds, "seconds", 0.5, 3_600)
    check_count(n_listeners, "n_listeners")
    check_count(seed, "seed", minimum=0)
    names = artist_names(n_artists + N_NEW + _N_MISSING, np.random.default_rng([seed, 0]))
    artists = _draw_artists(names, n_artists, seed)
    library, new = artists[:n_artists], artists[n_artists : n_artists + N_NEW]

    tasks = _library_tasks(root / "music", library, songs_an_artist, seconds, seed)
    n_in_library = len(tasks)
    tasks += _new_tasks(root / "new", new, seconds, seed)
    for task in tasks:
        task.path.parent.mkdir(parents=True, exist_ok=True)
    for done, _ in enumerate(run_tasks(synthesise_song, tasks, jobs=workers), start=1):
        progress("making music", done, len(tasks))
    covers = _cover_tasks(tasks[:n_in_library], seed)
    for done, _ in enumerate(run_tasks(draw_cover, covers, jobs=workers), start=1):
        progress("drawing covers", done, len(covers))

    _write_listeners(root, library, artists[n_artists + N_NEW :], tasks[:n_in_library], n_listeners, seed)
    return DemoLibrary(
        music=root / "music",
        listens=root / "listens.csv",
        playlists=root / "playlists",
        new=[task.path for task in tasks[n_in_library:]],
        styles={artist.name: STYLES[artist.style].name for artist in library + new},
    )


def _new_folder(folder: str | os.PathLike[str]) -> Path:
    root = Path(folder)
    if root.is_file() or (root.is_dir() and any(root.iterdir())):
        raise InvalidInputError(f"{root} is not empty; a demo library needs a new folder.")
    root.mkdir(parents=True, exist_ok=True)
    return root


def _draw_artists(names: list[str], n_in_library: int, seed: int) -> list[_Artist]:
    """Return artists, those of the library spread evenly over the styles."""
    random = np.random.default_rng([seed, 1])
    in_library = random.permutation(np.arange(n_in_library) % len(STYLES))
    styles = [*in_library, *np.resize(random.permutation(len(STYLES)), len(names) - n_in_library)]
    artists = []
    for name, number in zip(names, styles, strict=True):
        style = int(number)
        audible = np.array(STYLES[style].taste) + _STYLE_SPREAD * random.standard_normal(3)
        taste = np.append(audible, _SCENE_SPREAD * random.standard_normal())
        artists.append(_Artist(name=name, style=style, taste=taste, habits=random.random(8), mbid=_mbid(random)))
    return artists


def _mbid(random: np.random.Generator) -> str:
    return str(uuid.UUID(bytes=random.bytes(16), version=4))


def _library_tasks(
    music: Path, artists: list[_Artist], songs_an_artist: int, seconds: float, seed: int
) -> list[_SongTask]:
    """Return the songs to synthesise; songs of an album share recording and format, and all or none have MBIDs."""
    random = np.random.default_rng([seed, 2])
    tasks: list[_SongTask] = []
    taken: set[str] = set()
    n_albums = 0
    for artist in artists:
        n_songs = max(1, songs_an_artist + int(random.choice(_EXTRA_SONGS, p=_EXTRA_SONGS_SHARES)))
        names: set[str] = set()
        for part in np.array_split(np.arange(n_songs), max(1, round(0.6 * n_songs))):
            recording = int(random.integers(len(RECORDINGS)))
            album = album_name(RECORDINGS[recording].albums, random)
            if album in names:
                album = f"{album}, Volume {len(names) + 1}"
            names.add(album)
            year = int(random.integers(_YEARS[0], _YEARS[1], endpoint=True))
            extension = _EXTENSIONS[n_albums % len(_EXTENSIONS)]
            identified = bool(random.random() < 0.5)
            n_albums += 1
            for number in range(1, len(part) + 1):
                title = song_title(taken, random)
                tags = Tags(
                    artist=artist.name,
                    title=title,
                    album=album,
                    genre=STYLES[artist.style].name,
                    year=year,
                    recording_mbid=_mbid(random) if identified else "",
                    artist_mbid=artist.mbid if identified else "",
                )
                path = music / artist.name / f"{album} ({year})" / f"{number:02d} {title}.{extension}"
                tasks.append(_song_task(path, tags, artist, recording, seconds, (seed, 3, len(tasks))))
    return tasks


def _new_tasks(folder: Path, artists: list[_Artist], seconds: float, seed: int) -> list[_SongTask]:
    """Return singles by artists without listeners, one recorded on tape and one in a hall."""
    random = np.random.default_rng([seed, 4])
    tasks = []
    for number, artist in enumerate(artists):
        title = song_title(set(), random)
        genre = STYLES[artist.style].name
        tags = Tags(artist=artist.name, title=title, album=title, genre=genre, year=_YEARS[1] + 1)
        path = folder / f"{artist.name} - {title}.mp3"
        tasks.append(_song_task(path, tags, artist, 1 + number % 2, seconds, (seed, 5, number)))
    return tasks


def _song_task(
    path: Path, tags: Tags, artist: _Artist, recording: int, seconds: float, seed: tuple[int, ...]
) -> _SongTask:
    return _SongTask(
        path=path,
        tags=tags,
        style=artist.style,
        taste=tuple(artist.taste[:3].tolist()),
        habits=tuple(artist.habits.tolist()),
        recording=recording,
        seconds=seconds,
        seed=seed,
    )


def synthesise_song(task: _SongTask) -> None:
    """Synthesise, record, write and tag one song."""
    random = np.random.default_rng(task.seed)
    mix = perform(task.style, np.array(task.taste), np.array(task.habits), task.seconds, random)
    write_audio(task.path, record(mix, RECORDINGS[task.recording], random), RATE)
    write_tags(task.path, task.tags)


def _cover_tasks(songs: list[_SongTask], seed: int) -> list[tuple[Path, str, tuple[int, ...]]]:
    """Return (path, style, seed) of the covers: every second artist has covers, as in a real library."""
    albums = {song.path.parent: song.tags for song in songs}
    artists = list(dict.fromkeys(tags.artist for tags in albums.values()))
    illustrated = set(np.random.default_rng([seed, 7]).permutation(artists)[::2].tolist())
    return [
        (folder / "cover.jpg", tags.genre, (seed, 8, number))
        for number, (folder, tags) in enumerate(albums.items())
        if tags.artist in illustrated
    ]


def draw_cover(task: tuple[Path, str, tuple[int, ...]]) -> None:
    """Write one cover."""
    path, style, seed = task
    path.write_bytes(cover(style, seed))


def _write_listeners(
    root: Path, library: list[_Artist], missing: list[_Artist], tasks: list[_SongTask], n_listeners: int, seed: int
) -> None:
    """Write the listening history and the playlists; some of the played artists are not in the library."""
    random = np.random.default_rng([seed, 6])
    artists = library + missing
    taken = {task.tags.title for task in tasks}
    songs: list[list[SongName]] = []
    for artist in artists:
        own = [task for task in tasks if task.tags.artist == artist.name]
        known = [
            SongName(
                artist.name, task.tags.title, (Path("..") / task.path.relative_to(root)).as_posix(), task.seconds
            )
            for task in own
        ]
        songs.append(known or [SongName(artist.name, song_title(taken, random), "", 0.0) for _ in range(2)])
    tastes = np.array([artist.taste for artist in artists])
    popularity = zipf_popularity(len(artists), random)
    picks = draw_picks(tastes, popularity, n_listeners, random)
    instead = new_singles(songs[: len(library)])
    write_listens(root / "listens.csv", listener_names(n_listeners, random), picks, songs, random, instead)
    own_picks = draw_picks(tastes[: len(library)], popularity[: len(library)], _N_PLAYLISTS, random)
    titles = [song_title(taken, random) for _ in range(_N_PLAYLISTS)]
    write_playlists(root / "playlists", titles, own_picks, songs, random, instead)
