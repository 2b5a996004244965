"""What a listener did -> songs for them, and a radio that goes on from what was just played, liked or skipped."""
