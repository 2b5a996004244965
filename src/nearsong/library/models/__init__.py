"""Encoders and models of a library: fitting, storing, activating, and the native space for comparison."""
