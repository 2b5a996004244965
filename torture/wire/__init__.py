"""What attacks on a running service share: clients good and bad, and one module a kind of probe."""
