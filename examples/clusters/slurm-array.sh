#!/usr/bin/env bash
# Many runs on Slurm: eight tasks share the runs of one sweep. From a folder that all nodes see:
#   sbatch slurm-array.sh
# Submitted again, after a time limit or a failure, it continues with what is not done.
#SBATCH --job-name=reinstate-sweep
#SBATCH --array=0-7
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --output=slurm-%A_%a.log
# For a GPU each, remove one of the two signs: ##SBATCH --gpus=1
set -euo pipefail

source .venv/bin/activate
srun reinstate sweep sweep.toml --out sweeps/rates
