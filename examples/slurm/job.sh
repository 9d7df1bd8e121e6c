#!/bin/bash
# One policy for each task of the array, at most four at a time:
#   sbatch job.sh runs/carts
# The study is on a disk that all nodes share, with working locks.
#SBATCH --array=1-12%4
#SBATCH --time=02:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
set -u
study=$1
train=${TRAIN:-python train_cart.py}
folder=${JOBS:-jobs}/$SLURM_ARRAY_JOB_ID-$SLURM_ARRAY_TASK_ID
mkdir -p "$folder"

field() { python -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$folder/job.json" "$1"; }
held() { sdmbtl renew "$study" --id "$(field id)" --lease "$(field lease)"; }

# After a requeue the same policy goes on, unless it was given to another task meanwhile.
if ! { [ -s "$folder/job.json" ] && held; }; then
    sdmbtl ask "$study" --space carts.toml --lease 3h > "$folder/asked.json" || exit 1
    mv "$folder/asked.json" "$folder/job.json"
fi

# Two minutes before the time is over the job asks to be started again.
again() {
    kill "$training" 2> /dev/null
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
    exit 0
}
trap again USR1

srun $train < "$folder/job.json" > "$folder/report.json" &
training=$!
if wait "$training"; then
    sdmbtl tell "$study" "$folder/report.json"
else
    sdmbtl tell "$study" --failed --id "$(field id)" --lease "$(field lease)"
fi
