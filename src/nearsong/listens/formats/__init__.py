"""What a format of listening histories is, and the registry of all of them."""
