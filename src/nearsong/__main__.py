"""``python -m nearsong``."""

from nearsong.cli import main

main()
