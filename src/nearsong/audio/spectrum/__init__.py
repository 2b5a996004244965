"""Samples -> power in bands of the spectrum, compiled: windows, Fourier transforms, bands."""
