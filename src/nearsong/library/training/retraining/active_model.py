"""The active model and what it could know -> the same model without the held-out artists of a split.

The active model has learned from artists that a new training holds out, so its own scores on them would be too high.
It is therefore fitted again in each split, by its method and with its parameters, on the songs and listens that it
knew then, without the held-out artists. Both models are then scored on the same artists, which neither has seen, by
what listeners do today (docs/decisions/0028-training-by-itself.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from nearsong.errors import InvalidInputError, NoUsableQueryError
from nearsong.library.training.data import TrainingData, TrainingSet, choose_training_set
from nearsong.library.training.final import FinalFit
from nearsong.library.training.settings import TrainingSettings
from nearsong.model import SimilarityModel, SongEncoder
from nearsong.model.held_out import Indices


@dataclass(frozen=True, eq=False)
class ActiveModel:
    """A model that a new one has to be better than.

    Attributes
    ----------
    model : SimilarityModel
        As it is in use.
    method : str
        How it was learned; empty for an imported model, of which that is not known.
    parameters : mapping
        Of the method.
    known : TrainingData or None
        The songs of a training, and the listens to them that the model knew; None for an imported model.
    is_known_song : array of bool and shape (n_songs,)
        Which of the songs it knew.
    """

    model: SimilarityModel
    method: str = ""
    parameters: Mapping[str, Any] | None = None
    known: TrainingData | None = None
    is_known_song: Any = None

    def without(
        self,
        encoder: SongEncoder,
        training_set: TrainingSet,
        training_songs: Indices,
        settings: TrainingSettings,
    ) -> SimilarityModel | None:
        """Return the model fitted again on some songs; None if it cannot be.

        Parameters
        ----------
        encoder : SongEncoder
            Of the vectors of the training.
        training_set : TrainingSet
            Of the new training; artists of it that have no training song are held out.
        training_songs : array of shape (n_training,)
            Rows of the split's training songs in the training set.
        settings : TrainingSettings
            Stopping criteria.
        """
        if self.known is None:
            return None
        columns = training_set.columns[training_set.listening_data.song_artist]
        held_out = np.setdiff1d(training_set.columns, columns[training_songs])
        rows = training_set.songs[training_songs]
        data = _of_songs(self.known, rows[self.is_known_song[rows]], held_out)
        facts = self.model.trained_on
        same = {name: facts[name] for name in ("unit", "min_listeners", "n_relevant") if name in facts}
        try:
            chosen = choose_training_set(data, replace(settings, **same))
            if not len(chosen.songs):
                return None
            chosen = replace(chosen, vectors=encoder.restore(chosen.vectors))
            return FinalFit(encoder, data, chosen, settings).fit(self.method, self.parameters or {})[0]
        except (InvalidInputError, NoUsableQueryError):  # too little was known
            return None


def _of_songs(data: TrainingData, rows: Indices, held_out: Indices) -> TrainingData:
    """Return the data of some songs, without the listens to held-out artists."""
    song_plays = None if data.song_plays is None else sp.csr_array(data.song_plays[:, rows])
    return replace(
        data,
        vectors=data.vectors[rows],
        song_artist=data.song_artist[rows],
        artist_plays=_without_columns(data.artist_plays, held_out),
        song_plays=song_plays,
        song_ids=None if data.song_ids is None else data.song_ids[rows],
        all_plays=None if data.all_plays is None else _without_columns(data.all_plays, held_out),
    )


def _without_columns(plays: sp.csr_array, columns: Indices) -> sp.csr_array:
    """Return a matrix of the same shape in which some columns are empty."""
    wanted = np.ones(plays.shape[1], dtype=bool)
    wanted[columns] = False
    emptied = sp.csr_array(plays, copy=True)
    emptied.data = emptied.data * wanted[emptied.indices]
    emptied.eliminate_zeros()
    return emptied
