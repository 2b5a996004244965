"""What listeners do in nearsong -> records of their own, a history of plays, and files of both."""
