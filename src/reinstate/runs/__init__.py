"""Runs on disk: training, evaluating, reproducing."""
