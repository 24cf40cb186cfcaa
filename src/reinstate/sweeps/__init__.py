"""Many jobs, done once each, by processes here or on a cluster.

plan        what is asked for → runs with stable names
queue       jobs in a folder that many workers share: who has one, what came of it
worker      one process that does a job after the other
executors   who starts workers: this machine, submitit (Slurm), Ray
crew        keeps workers at it until nothing is left
runs        the job of a sweep: one run, trained and judged
table       what came of all, as CSV and Parquet
sweep       all of it together
"""
