"""Listeners who log in, and everything that is stored about one of them."""
