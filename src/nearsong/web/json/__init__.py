"""The JSON of the API: schemas of requests and responses, and records of the library as plain values."""
