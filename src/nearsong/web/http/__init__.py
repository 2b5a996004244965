"""HTTP below the routes: connections, security, compression, problems, limits."""
