"""Slow twins of the fast code, written from the definitions in plain Python and NumPy."""
