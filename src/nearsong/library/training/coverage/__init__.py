"""How much of a library a training learns from: which songs are read and used, what is left out, and in words."""
