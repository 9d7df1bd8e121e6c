#!/bin/bash
# Train on machines that are reached by ssh; the study stays here, and nothing runs there but you:
#   EACH=4 ./run.sh runs/carts alpha beta gamma
set -u
study=$1
shift
train=${TRAIN:-cd carts && python train_cart.py}

work() {
    for _ in $(seq "${EACH:-4}"); do
        job=$(sdmbtl ask "$study" --lease "${LEASE:-2h}") || return
        report=$(ssh "$1" "$train" <<< "$job")
        case $? in
            0) sdmbtl tell "$study" - <<< "$report" ;;
            255) echo "$1 is lost; what it trained is given to others in ${LEASE:-2h}." >&2 && return ;;
            *) id=$(python -c 'import json, sys; print(json.load(sys.stdin)["id"])' <<< "$job")
                sdmbtl tell "$study" --failed --id "$id" ;;
        esac
    done
}

for host in "$@"; do work "$host" & done
wait
