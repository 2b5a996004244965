"""How much a library must have before training is worth suggesting."""

MIN_ARTISTS = 25
"""Artists required for training: ten to learn from, and the rest for validation and test."""

MIN_PLAYS_TO_TRAIN = 100
"""With fewer plays than this and no other listens, training is not suggested yet."""
