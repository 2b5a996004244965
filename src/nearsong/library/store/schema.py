"""The tables of a library, the same in SQLite and PostgreSQL.

::

    roots           folders that are scanned
    songs           files: path, size, tags, problems with them, and why some are set aside
    encoders        song encoders; one of each name is scanned
    song_vectors    song x encoder -> song vector (float32 or float16; empty if the encoder has none of the song)
    models          metrics and spaces, each with the report of its training
    model_encoders  model x position -> encoder
    embeddings      song x model -> embedding (float32)
    stale_artists   model x artist whose songs changed since they were embedded
    listen_sources  listening histories that were imported
    listen_users    users of the histories
    listen_names    track names of the histories
    listen_blocks   rows of the histories, in columns
    listen_totals   source x name -> plays
    accounts        listeners who log in: name, hash of the token, password of players
    playlists       saved playlists
    playlist_songs  playlist x position -> song
    plays           plays through the service, not yet a history
    reactions       hearts, ratings and skips through the service, not yet a history
    play_queues     listener -> the songs a player had queued, to go on elsewhere
    bookmarks       listener x song -> where to go on in a long one
    settings        name -> value
"""

import hashlib
from typing import Any

import sqlalchemy as sa

from nearsong.audio.tags import TAG_FIELDS

VERSION = 11
"""Of what the columns hold; to be raised by hand where their meaning changes. Columns are part of `FORMAT`."""

metadata = sa.MetaData()

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # SQLite increments INTEGER columns only

Key = sa.LargeBinary(16)  # a hash: PostgreSQL cannot index texts of more than some 2,700 bytes

_COLUMN_TYPES: dict[Any, Any] = {str: sa.Text, bool: sa.Boolean, int | None: sa.Integer, float | None: sa.Float}

roots = sa.Table(
    "roots",
    metadata,
    sa.Column("path_key", Key, primary_key=True),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("scanned", sa.Float, nullable=False, comment="when a scan last ended, seconds since 1970"),
)

songs = sa.Table(
    "songs",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("path_key", Key, nullable=False, unique=True),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("modified", sa.BigInteger, nullable=False, comment="nanoseconds since 1970"),
    sa.Column("content", sa.Text, nullable=False, index=True, comment="hash that identifies a moved file"),
    sa.Column("missing", sa.Boolean, nullable=False, default=False),
    sa.Column("problem", sa.Text, nullable=False, default="", comment="why it cannot be analysed"),
    sa.Column("set_aside", sa.Text, nullable=False, default="", comment="why it is no music; it has no vectors"),
    sa.Column("damage", sa.Text, nullable=False, default="", comment="what is wrong with a usable file"),
    sa.Column("seconds", sa.Float, nullable=False, default=0.0),
    *(
        sa.Column(field.name, _COLUMN_TYPES[field.type], nullable=field.default is None, default=field.default)
        for field in TAG_FIELDS
    ),
    sa.Column("artist_key", sa.Text, nullable=False, default=""),
    sa.Column("artist_hash", Key, nullable=False, default=b"", index=True, comment="of artist_key; empty for none"),
    sa.Column("added", sa.Float, nullable=False, default=0.0, comment="seconds since 1970"),
    sqlite_autoincrement=True,  # ids of removed songs are not used again
)

IS_SONG = sa.and_(songs.c.problem == "", songs.c.set_aside == "")
"""Whether a file can be compared with others: it could be analysed, and it is music."""

encoders = sa.Table(
    "encoders",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("name", sa.Text, nullable=False, comment="in the registry of encoders"),
    sa.Column("key", sa.Text, nullable=False, unique=True, comment="hash of its parameters"),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.Column("n_dimensions", sa.Integer, nullable=False, comment="numbers of a vector"),
    sa.Column("dtype", sa.Text, nullable=False, comment="how they are stored: float32 or float16"),
    sa.Column("scanned", sa.Boolean, nullable=False, default=False, comment="whether scans compute its vectors"),
    sa.Column("fitted_songs", sa.Integer, nullable=True, comment="files of this library it was fitted for"),
    sqlite_autoincrement=True,
)

song_vectors = sa.Table(
    "song_vectors",
    metadata,
    sa.Column("encoder_id", Id, sa.ForeignKey("encoders.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("song_id", Id, sa.ForeignKey("songs.id", ondelete="CASCADE"), primary_key=True, index=True),
    sa.Column("vector", sa.LargeBinary, nullable=False),
)

models = sa.Table(
    "models",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("kind", sa.Text, nullable=False, comment="native, learned or imported"),
    sa.Column(
        "uses_artists", sa.Boolean, nullable=False, comment="whether embeddings depend on the artist's other songs"
    ),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.Column("facts", sa.Text, nullable=False, comment="JSON: report of the training, calibration"),
    sqlite_autoincrement=True,
)

model_encoders = sa.Table(
    "model_encoders",
    metadata,
    sa.Column("model_id", Id, sa.ForeignKey("models.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, comment="of its vector in the model's song vector"),
    sa.Column("encoder_id", Id, sa.ForeignKey("encoders.id"), nullable=False, index=True),
)

embeddings = sa.Table(
    "embeddings",
    metadata,
    sa.Column("model_id", Id, sa.ForeignKey("models.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("song_id", Id, sa.ForeignKey("songs.id", ondelete="CASCADE"), primary_key=True, index=True),
    sa.Column("embedding", sa.LargeBinary, nullable=False),
)

stale_artists = sa.Table(
    "stale_artists",
    metadata,
    sa.Column("model_id", Id, sa.ForeignKey("models.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("artist_hash", Key, primary_key=True),
)

listen_sources = sa.Table(
    "listen_sources",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("name", sa.Text, nullable=False, comment="path of the file"),
    sa.Column("fingerprint", sa.Text, nullable=False, index=True),
    sa.Column("format", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False, comment="counts, events or playlists"),
    sa.Column("rows", sa.BigInteger, nullable=False, default=0),
    sa.Column("users", sa.LargeBinary, nullable=False, default=b"", comment="ids of its users"),
    sa.Column("complete", sa.Boolean, nullable=False, default=False),
    sa.Column("imported", sa.Float, nullable=False, comment="when it was last written to, seconds since 1970"),
    sa.Column("position", sa.Text, nullable=False, default="", comment="JSON: how far a pull has come"),
    sqlite_autoincrement=True,
)

listen_users = sa.Table(
    "listen_users",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=False),
    sa.Column("key", Key, nullable=False, unique=True, comment="hash of the name"),
    sa.Column("name", sa.Text, nullable=False),
)

listen_names = sa.Table(
    "listen_names",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=False),
    sa.Column("key", Key, nullable=False, unique=True, comment="hash of the other columns"),
    sa.Column("artist", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("recording_mbid", sa.Text, nullable=False),
    sa.Column("artist_mbid", sa.Text, nullable=False),
)

listen_blocks = sa.Table(
    "listen_blocks",
    metadata,
    sa.Column("source_id", Id, sa.ForeignKey("listen_sources.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("data", sa.LargeBinary, nullable=False),
)

listen_totals = sa.Table(
    "listen_totals",
    metadata,
    sa.Column("source_id", Id, sa.ForeignKey("listen_sources.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("name_id", Id, primary_key=True),
    sa.Column("plays", sa.Float, nullable=False),
)

accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("key", Key, primary_key=True, comment="hash of the name without regard to case"),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("is_admin", sa.Boolean, nullable=False),
    sa.Column("token_hash", sa.LargeBinary(32), nullable=False, unique=True),
    sa.Column("app_password", sa.Text, nullable=False, comment="as it is, since players send a hash of it; or empty"),
    sa.Column("created", sa.Float, nullable=False, comment="seconds since 1970"),
)

playlists = sa.Table(
    "playlists",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("owner", sa.Text, nullable=False, index=True, comment="a listener with an account; empty for all"),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("created", sa.Float, nullable=False, comment="seconds since 1970"),
    sa.Column("changed", sa.Float, nullable=False),
    sqlite_autoincrement=True,
)

playlist_songs = sa.Table(
    "playlist_songs",
    metadata,
    sa.Column("playlist_id", Id, sa.ForeignKey("playlists.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("song_id", Id, sa.ForeignKey("songs.id", ondelete="CASCADE"), nullable=False, index=True),
)

plays = sa.Table(
    "plays",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("listener", sa.Text, nullable=False),
    sa.Column("time", sa.BigInteger, nullable=False, comment="when it began, seconds since 1970"),
    sa.Column("song_id", Id, nullable=False, comment="the song may have been removed; 0 for a play by name"),
    sa.Column("artist", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("recording_mbid", sa.Text, nullable=False),
    sa.Column("artist_mbid", sa.Text, nullable=False),
    sa.Index("plays_of_song", "song_id", "time"),
    sa.Index("plays_of_listener", "listener", "time"),
    sqlite_autoincrement=True,
)

reactions = sa.Table(
    "reactions",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("listener", sa.Text, nullable=False),
    sa.Column("action", sa.Integer, nullable=False, comment="heart, rating or skip, by its number"),
    sa.Column("time", sa.BigInteger, nullable=False, comment="seconds since 1970"),
    sa.Column("stars", sa.Integer, nullable=False, comment="of a rating; else 0"),
    sa.Column("song_id", Id, nullable=False, comment="the song may have been removed; 0 for an album or artist"),
    sa.Column("item", sa.Text, nullable=False, comment="id of an album or artist; empty for a song"),
    sa.Column("artist", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("recording_mbid", sa.Text, nullable=False),
    sa.Column("artist_mbid", sa.Text, nullable=False),
    sa.Index("reactions_of_listener", "listener", "action", "song_id"),
    sqlite_autoincrement=True,
)

play_queues = sa.Table(
    "play_queues",
    metadata,
    sa.Column("listener", sa.Text, primary_key=True),
    sa.Column("songs", sa.Text, nullable=False, comment="ids in order, separated by commas"),
    sa.Column("current", sa.Integer, nullable=False, comment="index of the current song"),
    sa.Column("position", sa.BigInteger, nullable=False, comment="in the current song, in milliseconds"),
    sa.Column("changed", sa.Float, nullable=False, comment="seconds since 1970"),
    sa.Column("changed_by", sa.Text, nullable=False, comment="name of the player"),
)

bookmarks = sa.Table(
    "bookmarks",
    metadata,
    sa.Column("listener", sa.Text, primary_key=True),
    sa.Column("song_id", Id, sa.ForeignKey("songs.id", ondelete="CASCADE"), primary_key=True, index=True),
    sa.Column("position", sa.BigInteger, nullable=False, comment="milliseconds"),
    sa.Column("comment", sa.Text, nullable=False),
    sa.Column("created", sa.Float, nullable=False, comment="seconds since 1970"),
    sa.Column("changed", sa.Float, nullable=False, comment="seconds since 1970"),
)

settings = sa.Table(
    "settings",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)


def format_of(tables: sa.MetaData) -> str:
    """Return the version and a digest of the columns, so that a library with other columns has another format."""
    columns = sorted(
        f"{table.name}.{column.name} {type(column.type).__name__} {column.nullable} {column.primary_key}"
        for table in tables.tables.values()
        for column in table.columns
    )
    digest = hashlib.blake2b("\n".join(columns).encode(), digest_size=4).hexdigest()
    return f"{VERSION}-{digest}"


FORMAT = format_of(metadata)
"""A library of another format is refused."""
