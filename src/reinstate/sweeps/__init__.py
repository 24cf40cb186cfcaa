"""Many runs, done once each, by processes here or on a cluster.

plan     what is asked for → runs with stable names
engines  who does them: processes of this machine, submitit (Slurm), Ray
sweep    all of it together; what came of it, as a table and a page
"""
