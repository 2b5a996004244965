"""What tests of plays share: a store with songs, and what its histories say."""

import sqlalchemy as sa

from nearsong.audio.tags import Tags
from nearsong.library.store import ScannedFile, Store
from nearsong.library.store.schema import listen_users

NOON = 1_700_000_000


def put(store: Store, *names: str) -> list[int]:
    """Write songs called "artist - title"."""
    with store.writing() as connection:
        parts = [(name, *name.split(" - ")) for name in names]
        files = [ScannedFile(f"/{n}.mp3", 10, 20, n, Tags(artist, title)) for n, artist, title in parts]
        return [store.songs.put(connection, file) for file in files]


def gathered(store: Store) -> list[tuple[str, str, int]]:
    """What the histories say: who played which title when."""
    with store.writing() as connection:
        users = dict(connection.execute(sa.select(listen_users.c.id, listen_users.c.name)).all())
    ids, tracks = store.listens.names()
    names = {number: item.title for number, item in zip(ids.tolist(), tracks, strict=True)}
    found = []
    for source in store.listens.histories():
        for block in store.listens.columns(source.id):
            columns = zip(block.user.tolist(), block.name.tolist(), block.time.tolist(), strict=True)
            found += [(users[user], names[name], when) for user, name, when in columns]
    return found
