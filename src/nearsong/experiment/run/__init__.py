"""The experiment itself: settings, splits, preparation, tasks and their results."""
