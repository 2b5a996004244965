"""Word lists -> invented names of artists, songs, albums and listeners."""

import re
from collections.abc import Sequence

import numpy as np

from nearsong.errors import InvalidInputError

_FIRST = (
    "Almanac", "Barometer", "Bramble", "Broomstick", "Buttermilk", "Candlewax", "Cardboard", "Corduroy",
    "Crumpet", "Custard", "Doorbell", "Driftwood", "Drizzle", "Dumpling", "Earmuff", "Flannel", "Foghorn",
    "Gingham", "Gooseberry", "Gravel", "Haberdash", "Hopscotch", "Inkwell", "Jampot", "Kazoo", "Linoleum",
    "Lukewarm", "Marzipan", "Mothball", "Nettle", "Nutcracker", "Oatmeal", "Oilcloth", "Paraffin", "Parsnip",
    "Pinecone", "Plywood", "Pumpernickel", "Quince", "Rhubarb", "Saffron", "Sawdust", "Semolina", "Tarpaulin",
    "Teaspoon", "Thimble", "Tinfoil", "Turnip", "Walnut", "Windowsill",
)  # fmt: skip
_PLURALS = (
    "Badgers", "Barbers", "Beekeepers", "Cartographers", "Chandeliers", "Cormorants", "Elevators", "Escalators",
    "Fishmongers", "Gherkins", "Glaciers", "Herons", "Isotopes", "Kettles", "Lamplighters", "Librarians",
    "Milkmen", "Otters", "Pelicans", "Plumbers", "Postmen", "Snowploughs", "Sundials", "Tortoises", "Turnstiles",
    "Umbrellas", "Ventriloquists", "Weathervanes",
)  # fmt: skip
_SINGULARS = (
    "Aqueduct", "Archipelago", "Bakery", "Committee", "Dictionary", "Embassy", "Ferry", "Funicular", "Greenhouse",
    "Laundromat", "Lighthouse", "Logbook", "Mezzanine", "Observatory", "Orchard", "Planetarium", "Regatta",
    "Sanatorium", "Submarine", "Tollbooth", "Tramway", "Viaduct",
)  # fmt: skip
_THINGS = (
    "Anchor", "Apron", "Atlas", "Balcony", "Bicycle", "Bonfire", "Bridge", "Calendar", "Candle", "Canal",
    "Carousel", "Chimney", "Cloud", "Compass", "Doorway", "Ember", "Envelope", "Estuary", "Feather", "Fountain",
    "Garden", "Gate", "Harbour", "Hill", "Lantern", "Ledger", "Letter", "Magnet", "Meadow", "Mirror", "Moth",
    "Orange", "Paddle", "Pebble", "Pendulum", "Postcard", "Puddle", "Ribbon", "River", "Rooftop", "Scarf",
    "Shadow", "Signal", "Staircase", "Station", "Suitcase", "Teacup", "Thunder", "Ticket", "Tide", "Tunnel",
    "Valley", "Wallpaper", "Window", "Winter",
)  # fmt: skip
_KINDS = (
    "Amber", "Borrowed", "Broken", "Careful", "Crooked", "Distant", "Empty", "Folded", "Forgotten", "Gentle",
    "Hollow", "Hurried", "Idle", "Invisible", "Narrow", "Northern", "Patient", "Quiet", "Restless", "Second",
    "Silver", "Sleeping", "Slow", "Spare", "Sudden", "Tangled", "Tidal", "Unfinished", "Uphill", "Wandering",
)  # fmt: skip
_TITLES = (
    "{kind} {thing}", "{thing} and {other}", "Letter to a {thing}", "No {thing} Tonight", "The {kind} {thing}",
    "{thing} by the {other}", "{kind} as a {thing}", "Somebody's {thing}", "A {thing} for the {other}",
    "{thing}, {thing}", "Half a {thing}", "Before the {thing}", "{kind} Hours", "All That {thing}",
)  # fmt: skip
_VENUES = (
    "Attic", "Boathouse", "Bowling Alley", "Cellar", "Chapel", "Corner Shop", "Courtyard", "Drawing Room",
    "Garden Shed", "Greenhouse", "Kitchen", "Library", "Mill Pond", "Night Bus", "Old Cinema", "Pavilion", "Pier",
    "Rooftop", "Stairwell", "Summer House", "Swimming Bath", "Tea Room", "Town Hall", "Tram Depot",
)  # fmt: skip

_BEFORE_VOWEL = re.compile(r"\b([Aa])(?= [AEIOU])")

MAX_ARTISTS = len(_FIRST) * (len(_PLURALS) + len(_SINGULARS))
"""Number of different artist names."""


def artist_names(n: int, random: np.random.Generator) -> list[str]:
    """Return ``n`` different artist names; words repeat as late as possible.

    Examples
    --------
    >>> names = artist_names(200, np.random.default_rng(0))
    >>> len(set(names)), len({name.split()[-2] for name in names[:50]})
    (200, 50)
    """
    if n > MAX_ARTISTS:
        raise InvalidInputError(f"{n} artists are more than there are names for; choose at most {MAX_ARTISTS}.")
    first, second = random.permutation(_FIRST), random.permutation([*_PLURALS, *_SINGULARS])
    # 50 and 50: shift the pairing by one each time all words have been used
    pairs = [(str(first[i % len(first)]), str(second[(i + i // len(first)) % len(second)])) for i in range(n)]
    the = random.random(n) < 0.5
    return [f"{'The ' if the[i] and last in _PLURALS else ''}{word} {last}" for i, (word, last) in enumerate(pairs)]


def song_title(taken: set[str], random: np.random.Generator) -> str:
    """Return a title that is not in ``taken``, and add it."""
    for attempt in range(10_000):
        thing, other = (str(word) for word in random.choice(_THINGS, 2, replace=False))
        title = str(random.choice(_TITLES)).format(thing=thing, other=other, kind=random.choice(_KINDS))
        title = _BEFORE_VOWEL.sub(r"\1n", title)
        if attempt >= 100:  # nearly all titles are taken
            title = f"{title}, Part {random.integers(2, 1_000)}"
        if title not in taken:
            taken.add(title)
            return title
    raise InvalidInputError(f"there are not enough titles for more than {len(taken)} songs; choose fewer songs.")


def album_name(patterns: Sequence[str], random: np.random.Generator) -> str:
    """Return an album name: one of the patterns, with ``{thing}`` and ``{venue}`` filled in."""
    thing = f"{random.choice(_KINDS)} {random.choice(_THINGS)}"
    return str(random.choice(patterns)).format(thing=thing, venue=random.choice(_VENUES))


def listener_names(n: int, random: np.random.Generator) -> list[str]:
    """Return ``n`` different user names."""
    numbers = random.permutation(max(100, 2 * n))[:n]
    return [
        f"{str(random.choice(_KINDS)).lower()}_{str(random.choice(_THINGS)).lower()}{number}" for number in numbers
    ]
