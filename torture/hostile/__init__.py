"""What strangers may send: mutants of songs, bombs, hostile listening histories and forged models."""
