"""Runs on disk: training, judging, reproducing."""
