"""The encoders of a library: which of them scans use, and which of these models are made for."""

from collections.abc import Collection, Sequence

from nearsong.errors import EmptyLibraryError, LibraryError
from nearsong.library.store import ACTIVE, PENDING, Connection, Store
from nearsong.model import CodewordEncoder, SongEncoder
from nearsong.model.encoders import JoinedEncoder, joined, read_encoder


def default_encoders(scanned: Collection[str]) -> tuple[str, ...]:
    """Return which of the scanned encoders models are made for by default.

    All of them, except codewords where there are others: these say more, and codewords then serve the paper's model
    and descriptions of sounds.

    >>> default_encoders(["codewords", "gaussian", "fisher"]), default_encoders(["codewords"])
    (('gaussian', 'fisher'), ('codewords',))
    """
    registered = tuple(name for name in scanned if name != JoinedEncoder.name)  # which came with an imported model
    others = tuple(name for name in registered if name != CodewordEncoder.name)
    return others or registered or tuple(scanned)


def chosen_encoders(store: Store, names: Sequence[str] | None = None) -> tuple[int, ...]:
    """Return the ids of the scanned encoders with some names; by default those that models are made for.

    Raises
    ------
    EmptyLibraryError
        If nothing was scanned yet.
    LibraryError
        If songs are not analysed with one of the encoders.
    """
    scanned = store.models.scanned_encoders()
    if not scanned:
        raise EmptyLibraryError("The library has no songs yet. Start with: nearsong scan FOLDER")
    chosen = default_encoders(scanned) if names is None else tuple(dict.fromkeys(names))
    unknown = [name for name in chosen if name not in scanned]
    if unknown:
        needed = ",".join([*scanned, *unknown])
        raise LibraryError(
            f"Songs are not analysed with the encoder {unknown[0]!r}. Run: nearsong scan --encoders {needed}"
        )
    return tuple(scanned[name] for name in chosen)


def stored_encoder(store: Store, encoder_ids: Sequence[int]) -> SongEncoder:
    """Return a stored encoder, or several as one."""
    return joined([read_encoder(store.models.encoder(encoder_id)) for encoder_id in encoder_ids])


def members_of(encoder: SongEncoder) -> tuple[SongEncoder, ...]:
    """Return the encoders that are stored, and scanned, for an encoder.

    Those that are joined in it; but itself if two of them have the same name, of which scans use one only.
    """
    members = encoder.encoders
    return members if len({member.name for member in members}) == len(members) else (encoder,)


def add_encoders(
    store: Store, connection: Connection, encoder: SongEncoder, fitted_songs: int | None = None
) -> tuple[int, ...]:
    """Store an encoder, or the members of a joined one; return their ids."""
    return tuple(
        store.models.add_encoder(
            connection,
            name=member.name,
            key=member.key,
            data=member.to_bytes(),
            n_dimensions=member.n_dimensions,
            dtype=member.storage_dtype,
            fitted_songs=fitted_songs,
        )
        for member in members_of(encoder)
    )


def set_encoders(
    store: Store,
    encoders: Sequence[SongEncoder],
    *,
    replace: bool = False,
    instead_of: Collection[int] = (),
    fitted_songs: int | None = None,
) -> tuple[int, ...]:
    """Use encoders for scans; return the ids of the encoders of their names that scans use from now on.

    Parameters
    ----------
    store : Store
    encoders : sequence of SongEncoder
        Not joined ones, unless scans take them as one encoder: see :func:`members_of`.
    replace : bool
        Whether they replace any others of their names; otherwise those that a concurrent scan has set are not
        replaced.
    instead_of : collection of int
        Ids of encoders that they may replace.
    fitted_songs : int, optional
        Number of files of the library when they were fitted; None if they were imported.
    """
    ids: list[int] = []
    with store.writing() as connection:  # all or none: the next scan uses the encoders that it finds
        for encoder in encoders:
            existing = store.models.scanned_encoders(connection).get(encoder.name)
            if existing is not None and existing not in instead_of and not replace:
                ids.append(existing)
                continue
            ids += add_encoders(store, connection, encoder, fitted_songs)
            store.models.scan_with(connection, ids[-1])
        drop_impossible_pending(store, connection)
    return tuple(ids)


def keep_encoders(store: Store, names: Sequence[str]) -> None:
    """Use only the named encoders for scans."""
    with store.writing() as connection:
        for name, encoder_id in store.models.scanned_encoders(connection).items():
            if name not in names:
                store.models.stop_scanning(connection, encoder_id)
        drop_impossible_pending(store, connection)


def use_excerpt(store: Store, seconds: float) -> bool:
    """Use the scanned encoders for excerpts of some seconds, 0 for complete songs; return whether any changed."""
    rows = [row for row in store.models.encoders() if row.scanned]
    encoders = [(row, stored_encoder(store, [row.id])) for row in rows]
    changed = [(row, other) for row, old in encoders if (other := old.with_excerpt(seconds)).key != old.key]
    with store.writing() as connection:  # all or none: the next scan uses the encoders that it finds
        for row, encoder in changed:
            for encoder_id in add_encoders(store, connection, encoder, row.fitted_songs):
                store.models.scan_with(connection, encoder_id)
        drop_impossible_pending(store, connection)
    return bool(changed)


def free_encoders(store: Store, names: Sequence[str]) -> None:
    """Delete the vectors of all encoders except the named ones and those of the active or pending model."""
    with store.writing() as connection:
        in_use = {store.models.setting_in(connection, setting) for setting in (ACTIVE, PENDING)}
        needed = {
            encoder_id
            for model in in_use
            if model is not None
            for encoder_id in store.models.row(int(model), connection).encoder_ids
        }
        unused = [
            row.id
            for row in store.models.encoders(connection)
            if row.name not in names and not row.scanned and row.id not in needed
        ]
        for encoder_id in unused:
            store.models.drop_encoder(connection, encoder_id)
    if unused:
        store.compact()


def drop_impossible_pending(store: Store, connection: Connection) -> None:
    """Drop a pending model with an encoder that no scan uses any more."""
    pending = store.models.setting_in(connection, PENDING)
    if pending is None:
        return
    scanned = store.models.scanned_encoders(connection).values()
    if not set(store.models.row(int(pending), connection).encoder_ids) <= set(scanned):
        store.models.set(connection, PENDING, None)
