#!/usr/bin/env bash
# Two workstations over SSH, which share a folder (NFS, say) with a clone and its .venv in it.
#   ./two-workstations.sh sweep     # many runs: each takes what the other has not begun
#   ./two-workstations.sh train     # one run, its seeds on both
# Given again, both commands continue where they stopped. Ctrl-C stops both machines.
set -euo pipefail

hosts=(first.example.org second.example.org)
folder=/shared/reinstate

on() { # HOST COMMAND…: -tt, so that the command ends when this script does
  ssh -tt "$1" "cd '$folder' && source .venv/bin/activate && ${*:2}"
}

case "${1:-}" in
  sweep)
    for host in "${hosts[@]}"; do
      on "$host" reinstate sweep examples/clusters/sweep.toml --out sweeps/rates &
    done
    ;;
  train)
    for number in "${!hosts[@]}"; do
      on "${hosts[number]}" reinstate train barcode-bandits --agent epl2rl \
        --distributed "${hosts[0]}:29500,$number,${#hosts[@]}" \
        --resume --out runs/wide &
    done
    ;;
  *)
    echo "use $0 sweep or $0 train" >&2
    exit 2
    ;;
esac

trap 'kill $(jobs -p)' INT TERM
status=0
for job in $(jobs -p); do
  wait "$job" || status=$?
done
exit "$status"
