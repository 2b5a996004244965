"""The table of attacks: a new one is a class in `torture/attacks` and a line here."""

from torture.attack import Attack
from torture.attacks.files import Files
from torture.attacks.histories import Histories
from torture.attacks.models import Models

ATTACKS: dict[str, type[Attack]] = {attack.name: attack for attack in (Files, Histories, Models)}
