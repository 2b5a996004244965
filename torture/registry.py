"""The table of attacks: a new one is a class in `torture/attacks` and a line here."""

from torture.attack import Attack
from torture.attacks.disk import DiskAttack

ATTACKS: dict[str, type[Attack]] = {"disk": DiskAttack}
