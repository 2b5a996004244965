"""Runs automatic tasks in the service: when each is due, new files in folders, what came of them."""
