"""Settings of library and service: folders, listening histories, models, schedule, the address for phones."""
