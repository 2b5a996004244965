"""The table of attacks: a new one is a class in `torture/attacks` and a line here."""

from torture.attack import Attack
from torture.attacks.clock import ClockAttack
from torture.attacks.disk import DiskAttack
from torture.attacks.together import TogetherAttack

ATTACKS: dict[str, type[Attack]] = {"clock": ClockAttack, "disk": DiskAttack, "together": TogetherAttack}
