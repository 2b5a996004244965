"""What the command line is made of before a command runs: the table of commands, and how options are read."""
