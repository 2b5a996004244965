"""A seed -> the demo library: synthesised music, invented artists and simulated listeners."""
