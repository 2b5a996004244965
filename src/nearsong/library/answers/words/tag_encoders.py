"""A store -> the encoders of its library that have words, and the tags and traits of all songs."""

from nearsong.library.answers.words.song_words import SongWords, TagEncoder
from nearsong.library.answers.words.sound_traits import SongTraits
from nearsong.library.models.library_encoders import stored_encoder
from nearsong.library.neighbours.space import Space
from nearsong.library.store import Store
from nearsong.model.encoders.gaussian import GaussianEncoder
from nearsong.model.encoders.registry import encoder_class
from nearsong.model.encoders.spectral_pattern import SpectralPatternEncoder


def tag_encoder_id(store: Store) -> int | None:
    """Return the id of the first encoder with tags that scans of the library use; None if there is none."""
    scanned = store.models.scanned_encoders()
    names = [name for name in scanned if hasattr(encoder_class(name), "tag_names")]
    return scanned[names[0]] if names else None


def library_words(store: Store, space: Space) -> SongWords | None:
    """Return the tags of all songs of a space; None without an encoder that has tags."""
    encoder_id = tag_encoder_id(store)
    if encoder_id is None:
        return None
    encoder = stored_encoder(store, (encoder_id,))
    if not isinstance(encoder, TagEncoder):
        return None
    return SongWords.measure(encoder, store.songs.vectors((encoder_id,)), space.ids)


def library_traits(store: Store, space: Space) -> SongTraits | None:
    """Return the traits of all songs of a space; None if scans do not use the encoder of spectral patterns."""
    encoder_id = store.models.scanned_encoders().get(SpectralPatternEncoder.name)
    if encoder_id is None:
        return None
    encoder = stored_encoder(store, (encoder_id,))
    if not isinstance(encoder, SpectralPatternEncoder):
        return None
    traits = SongTraits.measure(encoder, store.songs.vectors((encoder_id,)), space.ids)
    voices_id = store.models.scanned_encoders().get(GaussianEncoder.name)
    voices = None if voices_id is None else stored_encoder(store, (voices_id,))
    if not isinstance(voices, GaussianEncoder) or voices_id is None:
        return traits
    return traits.with_voices(voices, store.songs.vectors((voices_id,)))
