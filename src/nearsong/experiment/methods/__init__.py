"""The methods that the experiment compares: one file per family, one registry (``registry.py``)."""
