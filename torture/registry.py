"""The table of attacks: a new one is a class in `torture/attacks` and a line here."""

from torture.attack import Attack
from torture.attacks.clock import Clock
from torture.attacks.disk import Disk
from torture.attacks.kill import Kill
from torture.attacks.together import Together

_KINDS: tuple[type[Attack], ...] = (
    Kill,
    Disk,
    Clock,
    Together,
)
ATTACKS: dict[str, type[Attack]] = {kind.name: kind for kind in _KINDS}
