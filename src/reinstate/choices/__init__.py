"""The choice model: which strategies explain choices in the two-step task."""
