"""The tables of a library, the same in SQLite and PostgreSQL.

::

    roots           folders that are scanned
    songs           files: where, how large, what they say of themselves, and what is wrong with them
    ears            codebooks and features: what makes a vector of a song
    sounds          song x ear -> vector (float32)
    models          metrics, each with the ear it is for and the report of its training
    places          song x model -> place in the learned space (float32)
    listen_sources  listening histories that were imported
    listen_users    who listens
    listen_names    what was played, as the histories name it
    listen_blocks   rows of the histories, in columns
    listen_totals   source x name -> plays
    playlists       playlists that were saved
    playlist_songs  playlist x position -> song
    plays           what was played through the service, each play as it came
    settings        name -> value
"""

import sqlalchemy as sa

VERSION = 3
"""Of the tables; a library of another version is refused."""

metadata = sa.MetaData()

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # SQLite counts up only what it calls INTEGER

Key = sa.LargeBinary(16)  # a hash: PostgreSQL cannot index texts of more than some 2,700 bytes

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
    sa.Column("content", sa.Text, nullable=False, index=True, comment="what a moved file is known by"),
    sa.Column("missing", sa.Boolean, nullable=False, default=False),
    sa.Column("problem", sa.Text, nullable=False, default="", comment="why it gives no sound"),
    sa.Column("damage", sa.Text, nullable=False, default="", comment="what was wrong though it could be used"),
    sa.Column("seconds", sa.Float, nullable=False, default=0.0),
    sa.Column("artist", sa.Text, nullable=False, default=""),
    sa.Column("title", sa.Text, nullable=False, default=""),
    sa.Column("album", sa.Text, nullable=False, default=""),
    sa.Column("genre", sa.Text, nullable=False, default=""),
    sa.Column("year", sa.Integer, nullable=True),
    sa.Column("artist_key", sa.Text, nullable=False, default=""),
    sa.Column("recording_mbid", sa.Text, nullable=False, default=""),
    sa.Column("artist_mbid", sa.Text, nullable=False, default=""),
    sa.Column("added", sa.Float, nullable=False, default=0.0, comment="seconds since 1970"),
    sqlite_autoincrement=True,  # the number of a song that was forgotten is not given to another one
)

ears = sa.Table(
    "ears",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("key", sa.Text, nullable=False, unique=True),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sqlite_autoincrement=True,
)

sounds = sa.Table(
    "sounds",
    metadata,
    sa.Column("ear_id", Id, sa.ForeignKey("ears.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("song_id", Id, sa.ForeignKey("songs.id", ondelete="CASCADE"), primary_key=True, index=True),
    sa.Column("vector", sa.LargeBinary, nullable=False),
)

models = sa.Table(
    "models",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("kind", sa.Text, nullable=False, comment="native, learned or imported"),
    sa.Column("ear_id", Id, sa.ForeignKey("ears.id"), nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.Column("facts", sa.Text, nullable=False, comment="JSON: the report of the training, the calibration"),
    sqlite_autoincrement=True,
)

places = sa.Table(
    "places",
    metadata,
    sa.Column("model_id", Id, sa.ForeignKey("models.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("song_id", Id, sa.ForeignKey("songs.id", ondelete="CASCADE"), primary_key=True, index=True),
    sa.Column("place", sa.LargeBinary, nullable=False),
)

listen_sources = sa.Table(
    "listen_sources",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("name", sa.Text, nullable=False, comment="path it came from"),
    sa.Column("fingerprint", sa.Text, nullable=False, index=True),
    sa.Column("format", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False, comment="counts, events or playlists"),
    sa.Column("rows", sa.BigInteger, nullable=False, default=0),
    sa.Column("users", sa.LargeBinary, nullable=False, default=b"", comment="ids of its users"),
    sa.Column("complete", sa.Boolean, nullable=False, default=False),
    sa.Column("imported", sa.Float, nullable=False, comment="when it was last written to, seconds since 1970"),
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

playlists = sa.Table(
    "playlists",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
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
    sa.Column("song_id", Id, nullable=False, comment="the song may be gone by now"),
    sa.Column("artist", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("recording_mbid", sa.Text, nullable=False),
    sa.Column("artist_mbid", sa.Text, nullable=False),
    sa.Index("plays_of_song", "song_id", "time"),
    sqlite_autoincrement=True,
)

settings = sa.Table(
    "settings",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
