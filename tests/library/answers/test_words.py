"""Words and tags: what a text means, how likely tags are, and which songs are found."""

from pathlib import Path

import numpy as np
import pytest

from nearsong.errors import InvalidInputError
from nearsong.library.answers.words.find_songs import find_songs
from nearsong.library.answers.words.song_words import LOG_ODDS_SHIFT, SongWords, TagEncoder, calibrated
from nearsong.library.answers.words.word_match import SYNONYMS, match_words
from nearsong.library.neighbours.space import Space
from nearsong.library.records import Song
from nearsong.model.encoders.pretrained.musicnn import MusicnnEncoder
from nearsong.model.encoders.pretrained.musicnn_weights import TAG_NAMES

TAGS = ("mellow", "acoustic", "hip-hop", "female vocalists", "female vocalist", "blues", "60s", "rock", "indie rock")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mellow acoustic", ["mellow", "acoustic"]),
        ("MELLOW, Acoustic!", ["mellow", "acoustic"]),
        ("hip hop", ["hip-hop"]),
        ("rap music", ["hip-hop"]),
        ("female vocalist", ["female vocalists"]),
        ("some blues from the sixties", ["blues", "60s"]),
        ("60's", ["60s"]),
        ("indie rock", ["indie rock"]),
        ("accoustic", ["acoustic"]),
        ("melow", ["mellow"]),
    ],
)
def test_case_plurals_synonyms_and_spelling_make_no_difference(text, wanted):
    match = match_words(text.replace("from", "of"), TAGS)
    assert [TAGS[tag] for tag in match.wanted] == wanted
    assert match.unknown == match.unwanted == ()


def test_words_without_a_tag_are_reported_and_negated_ones_unwanted():
    match = match_words("rock without hip-hop, no female vocals, didgeridoo", TAGS)
    assert [TAGS[tag] for tag in match.wanted] == ["rock"]
    assert [TAGS[tag] for tag in match.unwanted] == ["hip-hop", "female vocalists"]
    assert match.unknown == ("didgeridoo",)


@pytest.mark.parametrize("text", ["", " , ", "!?"])
def test_no_words_are_an_error(text):
    with pytest.raises(InvalidInputError, match="No words given"):
        match_words(text, TAGS)


def test_too_many_words_are_an_error():
    with pytest.raises(InvalidInputError, match="21 words given"):
        match_words("rock " * 21, TAGS)


def test_every_tag_of_musicnn_means_itself_and_synonyms_mean_tags():
    for number, tag in enumerate(TAG_NAMES):
        expected = TAG_NAMES.index("female vocalists") if tag == "female vocalist" else number
        assert match_words(tag, TAG_NAMES).wanted == (expected,)
    for tag, synonyms in SYNONYMS.items():
        for synonym in synonyms:
            assert match_words(synonym, TAG_NAMES).wanted == (TAG_NAMES.index(tag),), synonym


def test_calibration_shifts_log_odds_and_keeps_the_order():
    probabilities = np.linspace(0.001, 0.999, 50)
    shifted = calibrated(probabilities)
    log_odds = np.log(shifted / (1 - shifted)) - np.log(probabilities / (1 - probabilities))
    np.testing.assert_allclose(log_odds, LOG_ODDS_SHIFT, rtol=1e-9)
    assert (np.diff(shifted) > 0).all()


class Ears:
    """An encoder whose vectors are the probabilities of its tags."""

    name = "ears"
    tag_names = ("mellow", "rock", "jazz")

    def tags(self, vectors):
        return np.asarray(vectors, dtype=float)


VECTORS = np.array(
    [[0.5, 0.01, 0.1], [0.4, 0.3, 0.1], [0.01, 0.5, 0.01], [0.02, 0.4, 0.3], [np.nan] * 3, [0.45, 0.02, 0.2]],
    np.float32,
)


@pytest.fixture
def space():
    songs = [
        Song(id=i + 1, path=f"/{i}.mp3", artist=f"A{i // 2}", artist_key=f"a{i // 2}", title=f"T{i}")
        for i in range(6)
    ]
    return Space(1, None, songs, np.zeros((6, 2), np.float32), Path("/nowhere"))


@pytest.fixture
def words(space):
    return SongWords.measure(Ears(), [(space.ids[:3], VECTORS[:3]), (space.ids[3:], VECTORS[3:])], space.ids)


def test_musicnn_is_an_encoder_with_tags():
    encoder = MusicnnEncoder("0", np.zeros((200, 50)), np.zeros(50))
    assert isinstance(encoder, TagEncoder)
    assert encoder.tag_names == TAG_NAMES


def test_songs_are_ranked_by_the_probability_that_all_words_fit(space, words):
    assert words.ids.tolist() == [1, 2, 3, 4, 6]
    found = find_songs(space, words, "mellow rock")
    heard = calibrated(VECTORS[[0, 1, 2, 3, 5]].astype(float))
    joint = heard[:, 0] * heard[:, 1]
    assert [item.song.id for item in found.songs] == words.ids[np.argsort(-joint)].tolist()
    assert found.songs[0].song.id == 2
    assert found.songs[0].probability == pytest.approx(joint.max(), rel=1e-5)
    assert found.songs[0].tags == pytest.approx({"mellow": heard[1, 0], "rock": heard[1, 1]}, rel=1e-5)
    assert [item.share for item in found.songs] == pytest.approx([0.8, 0.6, 0.4, 0.0, 0.0])  # the last two are equal
    assert found.notes() == ["1 song is not analysed by ears yet; run `nearsong scan`."]


def test_unwanted_words_filters_and_one_song_per_artist(space, words):
    assert find_songs(space, words, "mellow, no rock", 2).songs[0].song.id == 1
    assert find_songs(space, words, "not mellow not rock not jazz").wanted == ()
    allowed = np.array([False, True, True, True, True, True])
    assert find_songs(space, words, "mellow", 1, allowed=allowed).songs[0].song.id == 6
    ids = [item.song.id for item in find_songs(space, words, "rock", one_per_artist=True).songs]
    assert ids == [3, 2, 6]


def test_what_it_cannot_hear_is_stated(space, words):
    found = find_songs(space, words, "mellow didgeridoo")
    assert found.unknown == ("didgeridoo",)
    assert found.notes()[0] == "ears does not know 'didgeridoo'; it knows: mellow, rock, jazz."
    with pytest.raises(InvalidInputError, match="ears does not know 'didgeridoo'; it knows: mellow, rock, jazz"):
        find_songs(space, words, "didgeridoo")


def test_without_an_encoder_of_words_one_line_says_how_to_get_it(space):
    with pytest.raises(InvalidInputError, match=r"nearsong encoders add musicnn`, then `nearsong scan`"):
        find_songs(space, None, "mellow")


def test_tags_of_both_songs_set_them_apart_from_most_others(words):
    first, second = words.of_song(1), words.of_song(6)
    assert words.of_song(5) is None
    assert words.shared_by(np.stack([first, second]), least=0.6) == ("mellow",)
    shares = words.rank_shares(np.stack([first, second]))
    brute = (words.probabilities[:, None] < np.stack([first, second])).mean(axis=0)
    np.testing.assert_allclose(shares, brute)
