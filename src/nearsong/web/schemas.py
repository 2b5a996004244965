"""What the API says and hears, as records that OpenAPI describes."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from nearsong.library.importing import ME

SongId = Annotated[int, Field(ge=1, le=2**62, description="Number of a song in the library.")]
Metric = Literal["active", "native"]


class Strict(BaseModel):
    """What a caller sends: a name that is not known is an error, not silence."""

    model_config = ConfigDict(extra="forbid")


class SongOut(BaseModel):
    """A song of the library."""

    id: int
    artist: str
    title: str
    album: str
    genre: str
    year: int | None
    seconds: float
    plays: float = Field(description="How often the imported listens have it.")


class SongDetail(SongOut):
    """A song, and where its file is."""

    path: str
    recording_mbid: str
    size: int | None = Field(description="Bytes; null if the file is not there just now.")
    media_type: str


class SongPage(BaseModel):
    """Some songs of a longer list."""

    items: list[SongOut]
    total: int
    offset: int
    limit: int
    next: str | None = Field(description="Address of the next page.")
    fuzzy: bool = Field(description="Whether nothing fits all words, and these are only written alike.")


class GenreOut(BaseModel):
    """A genre and how many songs have it."""

    name: str
    songs: int


class NeighbourOut(BaseModel):
    """A near song."""

    song: SongOut
    distance: float
    similarity: float = Field(description="1 the same sound, 0 the most different.")
    listeners_agree: bool | None = Field(
        description="Whether the two artists are near by listeners too; null where listeners do not tell."
    )
    same_artist: bool


class ModelRef(BaseModel):
    """Which model answered."""

    id: int
    kind: str = Field(description="native, learned or imported")


class SimilarOut(BaseModel):
    """The nearest songs."""

    metric: Metric
    model: ModelRef
    seeds: list[SongOut]
    songs: list[NeighbourOut]


class SoundOut(BaseModel):
    """A sound that two songs share, or that parts them."""

    words: str
    reason: str = Field(
        description="What the two have to do with it: both have much or little of it, one of them has, or it goes "
        "with other sounds they share."
    )
    share: float = Field(description="Of what brings them together, or of what parts them; 0 to 1.")
    in_query: float
    in_song: float
    usual: float
    examples: list[SongOut]


class OverlapOut(BaseModel):
    """Who listens to both artists."""

    shared: int
    query: int
    other: int
    jaccard: float
    rank: int | None


class WhyOut(BaseModel):
    """Why two songs are near."""

    query: str
    other: str
    distance: float
    similarity: float
    sentences: list[str]
    together: list[SoundOut]
    apart: list[SoundOut]
    same_artist: bool
    listeners: OverlapOut | None


class HeardSeed(Strict):
    """Where a file that was heard, and not kept, is in the space of a model; the caller keeps it, not the service."""

    model: int
    place: str = Field(max_length=20_000, description="float32 numbers, little-endian, in base64.")


class QueryOut(BaseModel):
    """What a file that nobody has heard before is near to."""

    name: str
    artist: str
    title: str
    seconds: float
    damage: str | None = Field(description="What was wrong with the file, though it could be used.")
    model: ModelRef
    songs: list[NeighbourOut]
    native: list[NeighbourOut]
    why: list[WhyOut] = Field(description="One for each of `songs`.")
    heard: HeardSeed
    kept: bool


class FiltersIn(Strict):
    """Which songs may be answered."""

    artist_once: bool = False
    new_artists: bool = False
    exclude_artists: list[str] = Field(default_factory=list, max_length=100)
    genres: list[str] = Field(default_factory=list, max_length=100)
    year_from: int | None = Field(default=None, ge=0, le=9999)
    year_to: int | None = Field(default=None, ge=0, le=9999)
    fewer_plays: float | None = Field(default=None, gt=0, le=1e12)


class DraftIn(Strict):
    """What a playlist should be like."""

    seeds: list[SongId] = Field(default_factory=list, max_length=100)
    heard: list[HeardSeed] = Field(default_factory=list, max_length=5)
    to: SongId | None = Field(None, description="Walk from the one seed to this song.")
    length: int = Field(25, ge=1, le=500)
    artist_gap: int = Field(5, ge=0, le=500)
    diversity: float = Field(0.0, ge=0, le=1)
    drift: float = Field(0.0, ge=0, le=1)
    shuffle: int = Field(0, ge=0, le=2**31, description="Another number, another list, if diversity is above 0.")
    filters: FiltersIn = Field(default_factory=FiltersIn)


class DraftOut(BaseModel):
    """A playlist that is not saved."""

    songs: list[SongOut]
    notes: list[str] = Field(description="What could not be kept to, in words.")


class PlaylistIn(Strict):
    """A playlist to save."""

    name: str = Field(min_length=1, max_length=200)
    songs: list[SongId] = Field(max_length=10_000)


class PlaylistRef(BaseModel):
    """A saved playlist in a list of them."""

    id: int
    name: str
    songs: int
    seconds: float
    created: float
    changed: float


class PlaylistOut(PlaylistRef):
    """A saved playlist; songs that are gone from the library are left out and counted."""

    items: list[SongOut]
    gone: int


class ExportIn(Strict):
    """Songs to write into a playlist file, saved or not."""

    name: str = Field("playlist", min_length=1, max_length=200)
    songs: list[SongId] = Field(max_length=10_000)
    format: Literal["m3u8", "jspf"] = "m3u8"


class PackedNumbers(BaseModel):
    """Whole numbers as base64 of `width` little-endian bytes each."""

    width: int
    bytes: str


class MapOut(BaseModel):
    """All songs on the map, in columns: row i of each is the same song."""

    model: ModelRef
    songs: int
    missing: int = Field(description="Songs that came after the map was drawn.")
    ids: PackedNumbers
    positions: PackedNumbers = Field(description="x and y in turn, 0 to 65,535; (0, 0) is the upper left corner.")
    titles: list[str]
    artists: list[str]
    artist: PackedNumbers = Field(description="Place in `artists`.")
    genres: list[str]
    genre: PackedNumbers = Field(description="Place in `genres`; 0 is no genre.")
    years: PackedNumbers
    seconds: PackedNumbers
    plays: PackedNumbers
    genre_labels: list[list[int]] = Field(description="genre, x, y, songs, reach: where names of genres go.")
    artist_labels: list[list[int]]


class EstimateOut(BaseModel):
    """A mean over artists with its 95 % interval."""

    mean: float
    low: float
    high: float
    artists: int


class ScoreOut(BaseModel):
    """How well something ranks songs of held-out artists."""

    name: str
    label: str
    known: EstimateOut | None
    unknown: EstimateOut | None


class KeptModel(ModelRef):
    """A model that is kept."""

    created: float
    active: bool
    score: float | None = Field(description="Held-out AUC, where one was measured.")


class ReportOut(BaseModel):
    """What a training found on artists that it was not shown."""

    decision: str = Field(description="learned, or native where it was no better than sound alone and not taken.")
    sentences: list[str] = Field(description="All of it in plain words; the decision first.")
    advice: str = Field(description="What would help, in words; empty if nothing needs to.")
    rows: list[ScoreOut]
    listeners: int
    artists: int
    songs: int
    loss: str | None
    seconds: float


class ModelOut(BaseModel):
    """The model that answers, how good it is, and the others."""

    active: KeptModel | None
    report: ReportOut | None = Field(
        description="Of the last training if nothing came of it; else of the model that answers, or the last one."
    )
    models: list[KeptModel]


class UseModelIn(Strict):
    """Which model shall answer."""

    id: int = Field(ge=1, le=2**62)


class UseModelOut(BaseModel):
    """Which model answers now."""

    active: int | None
    unheard: int = Field(description="Songs it has to hear first; if there are any, it answers after the next scan.")


class ColdStartOut(BaseModel):
    """How much of the music that nobody has played comes up beside what was played."""

    songs: int
    never_played: int
    seeds: int = Field(description="Played songs that were asked about.")
    sampled: bool = Field(description="Whether only some of the played songs were asked about.")
    n: int = Field(description="Nearest songs looked at for each.")
    recommended: int = Field(description="Never-played songs among them, as learned.")
    recommended_native: int = Field(description="The same by sound alone.")
    examples: list[SongOut] = Field(description="Never-played songs that come up most often.")


class JobIn(Strict):
    """Work to start."""

    kind: Literal["scan", "train", "map"]
    folders: list[str] = Field(
        default_factory=list, max_length=20, description="For a scan: new folders; none for all that are known."
    )


class JobOut(BaseModel):
    """Work and how far it is."""

    id: str
    kind: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    stage: str
    done: int
    total: int = Field(description="0 if not known.")
    started: float | None
    ended: float | None
    notes: list[str]
    error: str | None
    result: dict[str, object] | None


class StatusOut(BaseModel):
    """What the library holds, and what to do next."""

    version: str
    songs: int
    artists: int
    seconds: float
    missing: int
    unreadable: int
    unheard: int
    histories: int
    listens: int
    users: int
    played: int = Field(description="Plays that the page and players have noted; they count at the next training.")
    folders: list[str]
    library: str | None = Field(
        description="What `--library` needs for this library; null where it is not needed, or not told."
    )
    model: ModelRef | None
    step: Literal["scan", "listens", "train", "ask"] = Field(description="What is missing most.")
    next: list[str] = Field(description="What to do, in words, with the command to type.")
    may_add_folders: bool
    may_keep: bool
    keeps_plays: bool = Field(description="Whether what is played is noted.")
    upload_megabytes: int


class PlayIn(Strict):
    """That a song was played."""

    song_id: SongId
    seconds: float = Field(0.0, ge=0, le=86_400, description="How long ago it began.")
    listener: str = Field(
        ME, min_length=1, max_length=200, description="Who listens; by default the library's owner."
    )


class HealthOut(BaseModel):
    """That the service answers."""

    status: Literal["ok"]
    version: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
