"""The table of attacks: a new one is a class in `torture/attacks` and a line here."""

from torture.attack import Attack
from torture.attacks.clock import Clock
from torture.attacks.disk import Disk
from torture.attacks.files import Files
from torture.attacks.histories import Histories
from torture.attacks.kill import Kill
from torture.attacks.models import Models
from torture.attacks.soak import Soak
from torture.attacks.together import Together
from torture.attacks.wire import Wire

_KINDS: tuple[type[Attack], ...] = (Kill, Files, Histories, Models, Wire, Disk, Clock, Together, Soak)
ATTACKS: dict[str, type[Attack]] = {kind.name: kind for kind in _KINDS}
