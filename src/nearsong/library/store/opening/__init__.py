"""Opening a database: the file or the server, and what their errors mean."""
