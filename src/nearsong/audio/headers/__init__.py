"""What files declare of themselves: how long they are, and tags within limits."""
