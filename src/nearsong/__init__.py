"""nearsong learns what listeners find similar and hears it in sound."""

__version__ = "0.1.0.dev0"
