"""The page and the service: a library as a place to discover music, for people and for programs."""
