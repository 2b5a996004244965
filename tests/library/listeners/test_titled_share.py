"""Which plays name a title: without most of them, nobody knows which songs were never played."""

import numpy as np

from nearsong.library.listeners.deduplicate import HistoryListens
from nearsong.library.listeners.matching import Matched, track_name_columns
from nearsong.library.listeners.matrices import build_listening
from nearsong.listens.records import TrackName

# a song, an artist alone, what is not here
MATCHED = Matched(np.array([0, -1, -1]), np.array([0, 0, -1]), np.zeros(3, np.uint8))
NAMES = [TrackName("Can", "Vitamin C"), TrackName("Can"), TrackName("Neu!", "Hero")]


def counts(*plays):
    """Make a history in which a user has played each name so often."""
    users, names = np.zeros(3, np.int32), np.arange(3, dtype=np.int32)
    return HistoryListens("counts", users, names, np.array(plays, np.float32), np.zeros(3, np.int64))


def titled_share(*plays, names=NAMES):
    return build_listening([counts(*plays)] if plays else [], MATCHED, 1, 1, names=names).titled_share


def test_it_is_the_share_of_the_plays_that_the_library_knows():
    assert titled_share(2, 8, 50) == 2 / 10
    assert titled_share(0, 8, 50) == 0
    assert titled_share() == 0


def test_a_title_that_the_library_lacks_is_one_too():
    lacking = [NAMES[0], TrackName("Can", "Not here"), NAMES[2]]
    for names in (lacking, track_name_columns(lacking)):
        assert titled_share(2, 8, 50, names=names) == 1


def test_without_names_only_those_that_match_a_song_have_one():
    assert titled_share(2, 8, 50, names=None) == 2 / 10
