"""Requests and responses of the API, as OpenAPI describes them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from nearsong.audio.tags import TAG_FIELDS
from nearsong.library import DEFAULT_USER
from nearsong.web.json.reasons import OverlapOut, TraitsOut, WhyPartsOut

SongId = Annotated[int, Field(ge=1, le=2**62, description="Id of a song in the library.")]
Metric = Literal["active", "native"]
ClosenessWord = Literal["very close", "close", "loose", "far"]
DialPosition = Annotated[
    float,
    Field(ge=-1, le=1, description="From -1, what many people play, to 1, what few play; needs a learned model."),
]


_PLAYS_KNOWN = (
    "Whether most plays of the library's artists name titles; without, nobody knows which songs were never played."
)


class Strict(BaseModel):
    """A request body; unknown fields and values of other types are errors."""

    model_config = ConfigDict(extra="forbid", strict=True)


_listed: dict[str, Any] = {field.name: (field.type, ...) for field in TAG_FIELDS if field.metadata["listed"]}
_ListedFields: Any = create_model("_ListedFields", **_listed)


class SongOut(_ListedFields):  # type: ignore[misc]  # the fields of the tags, from their table
    """A song of the library."""

    id: int
    seconds: float
    plays: float = Field(description="Plays in all listening histories.")


class SongDetail(SongOut):
    """A song and its file."""

    plays_known: bool = Field(description=_PLAYS_KNOWN)
    path: str
    recording_mbid: str
    size: int | None = Field(description="Bytes; null if the file is missing.")
    bit_rate: int | None = Field(description="Kilobits in a second.")
    sample_rate: int | None = Field(description="Samples in a second, as the file declares it.")
    channels: int | None
    media_type: str


class SongPage(BaseModel):
    """A page of a list of songs."""

    items: list[SongOut]
    total: int
    offset: int
    limit: int
    next: str | None = Field(description="Address of the next page.")
    fuzzy: bool = Field(description="Whether no song matches all words, and these are similar spellings.")


class GenreOut(BaseModel):
    """A genre and its number of songs."""

    name: str
    songs: int


class FilterOut(BaseModel):
    """A filter, as a form shows it."""

    name: str = Field(description="Its name in the `filters` of a draft.")
    parameter: str = Field(description="Its name in a query.")
    kind: Literal["check", "number", "texts", "choices"]
    label: str
    summary: str = Field(description="In the summary of the filters that are set; `{}` is the value.")
    group: str = Field(description="Heading of a row that it shares with other numbers.")
    value: bool | float | None = Field(description="The value that its checkbox sets.")
    min: float | None
    max: float | None
    choices: str = Field(description="Path of the list to choose from.")


class NeighbourOut(BaseModel):
    """A similar song."""

    song: SongOut
    distance: float
    similarity: float = Field(description="The share of random pairs of songs that are farther apart, 0 to 1.")
    closeness: float = Field(description="The same on a scale that separates near songs: 1 identical, 0 farthest.")
    closeness_word: ClosenessWord
    listeners_agree: bool | None = Field(
        description="Whether the artists share listeners, too; null if there are too few listens to tell."
    )
    same_artist: bool


class ModelRef(BaseModel):
    """A model."""

    id: int
    kind: str = Field(description="native, learned or imported")


class SimilarOut(BaseModel):
    """Similar songs, nearest first."""

    metric: Metric
    model: ModelRef
    seeds: list[SongOut]
    songs: list[NeighbourOut]


class SoundOut(BaseModel):
    """A sound that makes two songs similar or different."""

    words: str
    reason: str = Field(
        description="How it relates the two songs: both have much or little of it, only one has, or it goes with "
        "other sounds they share."
    )
    share: float = Field(description="Its share of the similarity or difference, 0 to 1.")
    in_query: float | None = Field(description="Share of the seed; null if the encoder measures no shares.")
    in_song: float | None
    in_library: float | None
    examples: list[SongOut]


class WhyOut(BaseModel):
    """Why two songs are similar."""

    query: str
    other: str
    distance: float
    similarity: float
    closeness: float
    closeness_word: ClosenessWord
    lead: str = Field(description="The reasons in one sentence.")
    traits: TraitsOut
    parts: WhyPartsOut | None = Field(description="What the distance is made of; null if it is the sounds below.")
    sentences: list[str]
    similarities: list[SoundOut]
    differences: list[SoundOut]
    same_artist: bool
    listeners: OverlapOut | None


class UploadSeed(Strict):
    """An analysed upload as a seed for playlists; the client stores it, not the service."""

    model: int
    embedding: str = Field(max_length=20_000, description="The embedding: little-endian float32 in base64.")


class QueryOut(BaseModel):
    """The songs similar to an uploaded file."""

    name: str
    artist: str
    title: str
    seconds: float
    damage: str | None = Field(description="What is damaged, if only a part of the file could be used.")
    model: ModelRef
    songs: list[NeighbourOut]
    native: list[NeighbourOut]
    why: list[WhyOut] = Field(description="An explanation for each of `songs`.")
    seed: UploadSeed
    saved: bool = Field(description="Whether the file was saved; a scan then adds it to the library.")


class PackedNumbers(BaseModel):
    """Integers in base64, `width` little-endian bytes each."""

    width: int
    bytes: str


class MapOut(BaseModel):
    """All songs on the map in columns; row i of each column is the same song."""

    model: ModelRef
    songs: int
    missing: int = Field(description="Songs added after the map was drawn.")
    ids: PackedNumbers
    positions: PackedNumbers = Field(description="x and y alternating, 0 to 65,535; (0, 0) is the upper left corner.")
    titles: list[str]
    artists: list[str]
    artist: PackedNumbers = Field(description="Index in `artists`.")
    genres: list[str]
    genre: PackedNumbers = Field(description="Index in `genres`; 0 is no genre.")
    years: PackedNumbers
    seconds: PackedNumbers
    plays: PackedNumbers
    genre_labels: list[list[int]] = Field(description="genre, x, y, songs, radius of each label.")
    artist_labels: list[list[int]]


class MapThumbnailOut(BaseModel):
    """Some songs of the map."""

    songs: int = Field(description="All songs of the map; 0 if it is not drawn yet.")
    positions: PackedNumbers = Field(description="x and y alternating, as in the map.")
    genre: PackedNumbers = Field(description="From 1, the most frequent first; 0 for none, and for rare ones.")


class EstimateOut(BaseModel):
    """A mean over artists with its 95 % interval."""

    mean: float
    low: float
    high: float
    artists: int


class ScoreOut(BaseModel):
    """How well a method ranks songs of held-out artists."""

    name: str
    label: str
    known: EstimateOut | None
    unknown: EstimateOut | None
    known_terciles: EstimateOut | None = Field(description="Among songs of similar popularity.")
    unknown_terciles: EstimateOut | None


class StoredModel(ModelRef):
    """A stored model."""

    is_learned: bool = Field(description="Whether it was learned from listeners, here or where it comes from.")
    created: float
    active: bool
    score: float | None = Field(description="Held-out AUC, if it was measured.")


class ReportOut(BaseModel):
    """The result of a training, measured on held-out artists."""

    decision: str = Field(description="learned, or native if learning was no better than sound alone.")
    sentences: list[str] = Field(description="The result in words; the decision first.")
    advice: str = Field(description="What would improve it, in words; may be empty.")
    rows: list[ScoreOut]
    listeners: int
    artists: int
    songs: int
    loss: str | None
    method: str | None = Field(description="Chosen by validation: paper, mlr, listener_space or combined.")
    seconds: float


class ModelOut(BaseModel):
    """The active model, its quality, and all stored models."""

    active: StoredModel | None
    report: ReportOut | None = Field(description="Of the last training if rejected; else of the active or last one.")
    models: list[StoredModel]


class UseModelIn(Strict):
    """The model to use."""

    id: int = Field(ge=1, le=2**62)


class UseModelOut(BaseModel):
    """The active model."""

    active: int | None
    not_analysed: int = Field(
        description="Songs to analyse first; if any, the model becomes active after the next scan."
    )


class ColdStartOut(BaseModel):
    """How many never-played songs are recommended next to played ones."""

    songs: int
    never_played: int
    seeds: int = Field(description="Played songs that were looked up.")
    sampled: bool = Field(description="Whether only a sample of the played songs was looked up.")
    n: int = Field(description="Nearest songs for each.")
    recommended: int = Field(description="Never-played songs among them, by the active model.")
    recommended_native: int = Field(description="The same by sound alone.")
    examples: list[SongOut] = Field(description="The never-played songs recommended most often.")
    plays_known: bool = Field(description=_PLAYS_KNOWN)


class JobOut(BaseModel):
    """A job and its progress."""

    id: str
    kind: str
    title: str = Field(description="The kind of job in words.")
    state: Literal["pending", "running", "done", "failed", "cancelled"]
    stage: str = Field(description="The current step, in words.")
    done: int
    total: int = Field(description="0 if unknown.")
    started: float | None
    ended: float | None
    notes: list[str]
    error: str | None
    result: dict[str, object] | None
    view: str = Field(description="The view of the page that follows it; empty for none.")
    is_automatic: bool = Field(description="Whether the service started it by itself.")
    words: str = Field(description="The result or the error in words; empty until it has ended.")


class StatusOut(BaseModel):
    """The content of the library, and what to do next."""

    version: str
    songs: int
    artists: int
    seconds: float
    missing: int
    unreadable: int
    set_aside: int = Field(description="Files without music, which are not compared with songs.")
    not_analysed: int
    histories: int
    listens: int = Field(description="Rows of all histories; a listen that several of them report counts once.")
    users: int
    played: int = Field(description="Plays recorded by the page and players; used by the next training.")
    folders: list[str]
    library: str | None = Field(description="The value of `--library` for commands; null if not needed.")
    model: ModelRef | None
    step: Literal["scan", "listens", "train", "ready"] = Field(description="What to do next; ready if nothing.")
    next: list[str] = Field(description="What to do, in words, with the command.")
    can_add_folders: bool
    can_save_uploads: bool
    has_login: bool = Field(description="Whether browsers log in with a token, so that they can log out.")
    listener: str | None = Field(description="Who is logged in; null if it may be anybody.")
    is_admin: bool = Field(description="Whether they may change the library and see what others play.")
    has_dial: bool = Field(description="Whether the model has the dial from familiar to adventurous.")
    has_words: bool = Field(description="Whether songs can be found by words.")
    records_plays: bool = Field(description="Whether plays are recorded.")
    upload_megabytes: int
    playlist_defaults: dict[str, float] = Field(description="Settings of a playlist that nobody changed.")
    playlist_formats: dict[str, str] = Field(description="Formats that playlists are exported in: name -> label.")


class PlayIn(Strict):
    """A play of a song."""

    song_id: SongId
    seconds: float = Field(0.0, ge=0, le=86_400, description="How long ago it started.")
    listener: str = Field(
        DEFAULT_USER, min_length=1, max_length=200, description="Who listened; by default the library's owner."
    )


class HealthOut(BaseModel):
    """The service is up."""

    status: Literal["ok"]
    version: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
