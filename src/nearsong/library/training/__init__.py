"""Songs and listening data -> a learned model, if it beats sound alone on held-out artists, and its report."""
