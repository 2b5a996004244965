"""Readers of what players store on disk, one module for each player: their logs, libraries and databases."""
