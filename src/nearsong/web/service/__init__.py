"""What requests share: the snapshot, batching, limits, metrics."""
