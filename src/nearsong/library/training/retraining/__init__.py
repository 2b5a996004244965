"""Training again: whether anything has changed, and whether the new model is better than the active one."""
