"""What several services on one PostgreSQL database tell each other; nothing of it lasts, and no backup holds it.

SQLite has no such tables: one service on one machine keeps the same in its memory (docs/decisions/0034).
"""

from nearsong.library.store.shared.jobs import JobRow as JobRow
from nearsong.library.store.shared.jobs import JobTable as JobTable
from nearsong.library.store.shared.leases import Lease as Lease
from nearsong.library.store.shared.now_playing import PlayingTable as PlayingTable
from nearsong.library.store.shared.sessions import SessionTable as SessionTable
from nearsong.library.store.shared.state import SharedState as SharedState
