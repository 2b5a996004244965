"""Commands of the service: `nearsong serve`, and what it does by itself."""
