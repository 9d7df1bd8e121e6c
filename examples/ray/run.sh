#!/bin/bash
# A Ray cluster of this machine and others, a study on it, and the end of the cluster:
#   JOBS=8 ./run.sh runs/cartpole beta gamma
# Every machine has the package and, if there are any, your modules in its Python path.
set -eu
study=$1
shift
port=${PORT:-6379}
stop() {
    for host in "$@"; do ssh "$host" ray stop || true; done
    ray stop
}
trap 'stop "$@"' EXIT

ray start --head --port="$port"
for host in "$@"; do
    ssh "$host" ray start --address="$(hostname):$port"
done
# The same command continues a study whose driver was killed.
sdmbtl run CartPole --out "$study" --budget "${BUDGET:-12}" \
    --executor ray --executor-option address=auto --jobs "${JOBS:-4}" \
    --executor-option time_limit=7200
