"""Try to break the program, in earnest and with counts: `make torture`.

kills      kills, full disks and several writers at every file operation and at random moments
fuzz       damaged and hostile files, for everything that reads one
sweeps     a sweep of many runs, killed again and again: each is done, and done once
long_runs  thousands of epochs: memory and file handles
mistakes   deliberate mistakes in the code itself: do the tests notice? (not in `make torture`)

None of it is part of the tests, which do a minute's worth of the same. Each is a command of its
own, `PYTHONPATH=tests python -m torture.NAME --help`, and leaves a record in results/torture.
"""
