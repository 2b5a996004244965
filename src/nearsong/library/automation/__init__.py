"""What the service does by itself: settings, state and rules, stored in the library; the service runs it."""
