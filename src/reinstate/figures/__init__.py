"""Recorded numbers → charts → files for papers (`mpl`) and figures of the report's page (`svg`)."""
