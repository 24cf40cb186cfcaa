#!/usr/bin/env bash
# One run on two nodes of Slurm, a process each. From a folder that both nodes see:
#   sbatch slurm-multi-node.sh
# Submitted again it resumes, also with another number of nodes.
#SBATCH --job-name=reinstate-train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --gpus-per-node=1
#SBATCH --mem=32G
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@120
#SBATCH --output=slurm-%j.log
set -euo pipefail

source .venv/bin/activate
# Which node is the first, and which process is which, Slurm tells JAX.
srun reinstate train barcode-bandits --preset paper --agent epl2rl --distributed auto \
  --resume --out runs/wide
