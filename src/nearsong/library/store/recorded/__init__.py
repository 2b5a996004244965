"""What nearsong itself stores of listeners: their accounts, and what they do, recorded as it happens."""
