"""A library -> everything in it that must survive, as hashes: two libraries with equal contents are equal.

Songs are named by path, since their numbers depend on which worker was faster.
"""

import hashlib
from contextlib import closing
from typing import Any

from nearsong.library.store import Store

Contents = dict[str, Any]


def contents_of(address: str) -> Contents:
    """Return the contents of a library, checked to be consistent."""
    with closing(Store(address, create=False)) as store:
        songs = {song.id: song for song in store.songs.all()}
        path_of = {number: song.path for number, song in songs.items()}
        found: Contents = {
            "tags": {
                song.path: (song.artist, song.title, song.album, song.year, song.missing) for song in songs.values()
            },
            "problems": sorted(store.songs.problems()),
            "roots": sorted(store.songs.roots()),
        }
        encoders = store.models.encoders()
        found["encoders"] = {row.name: _hash(store.models.encoder(row.id)) for row in encoders if row.scanned}
        for row in encoders:
            if row.scanned:
                found[f"vectors {row.name}"] = {
                    path_of[int(number)]: _hash(vector.tobytes())
                    for ids, matrix in store.songs.vectors([row.id])
                    for number, vector in zip(ids, matrix, strict=True)
                }
        active = store.models.active
        found["active"] = None if active is None else store.models.row(active).kind
        if active is not None:
            found["model"] = _hash(store.models.data(active))
            ids, matrix = store.songs.embeddings(active)
            found["embeddings"] = {
                path_of[int(number)]: _hash(vector.tobytes()) for number, vector in zip(ids, matrix, strict=True)
            }
        found["kinds of models"] = sorted(row.kind for row in store.models.rows())
        found["histories"] = sorted((one.name, one.rows, one.fingerprint) for one in store.listens.histories())
        found["listens"] = {one.name: _listens(store, one.id) for one in store.listens.histories()}
        found["playlists"] = sorted(
            (one.name, [path_of[number] for number in one.songs]) for one in store.playlists.list()
        )
        found["plays"] = sorted((play.listener, repr(play.track)) for play in store.plays.all())
        return found


def _listens(store: Store, source: int) -> str:
    """Return a hash of a history's rows; numbers of users and names depend on what was imported before."""
    numbers, names = store.listens.names()
    hashes = [_hash(repr(name).encode()) for name in names]  # names may be long
    name_of = dict(zip(numbers.tolist(), hashes, strict=True))
    users: dict[int, int] = {}
    digest = hashlib.blake2b(digest_size=12)
    for block in store.listens.columns(source):
        columns = (block.user.tolist(), block.name.tolist(), block.plays.tolist(), block.time.tolist())
        for user, name, plays, when in zip(*columns, strict=True):
            digest.update(repr((users.setdefault(user, len(users)), name_of[name], plays, when)).encode())
    return digest.hexdigest()


def difference(before: Contents, after: Contents) -> str:
    """Return in which parts two libraries differ, and how; empty if they are equal."""
    parts = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            n_other = sum(old[key] != new[key] for key in old.keys() & new.keys())
            parts.append(
                f"{name}: {len(old.keys() - new.keys())} lost, {len(new.keys() - old.keys())} new, {n_other} other"
            )
        else:
            parts.append(f"{name}: {str(old)[:80]} became {str(new)[:80]}")
    return "; ".join(parts)


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()
