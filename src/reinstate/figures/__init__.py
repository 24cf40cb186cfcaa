"""Numbers → charts."""
