"""The table of attacks: a new one is a class in `torture/attacks` and a line here."""

from torture.attack import Attack
from torture.attacks.kill import Kill
from torture.attacks.soak import Soak
from torture.attacks.wire import Wire

_KINDS: tuple[type[Attack], ...] = (Kill, Wire, Soak)
ATTACKS: dict[str, type[Attack]] = {kind.name: kind for kind in _KINDS}
