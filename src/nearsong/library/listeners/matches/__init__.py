"""How much of each listening history the library has: records, words, and what is kept of it for the next look."""
