"""Routes for browsing: home, albums, artists."""
