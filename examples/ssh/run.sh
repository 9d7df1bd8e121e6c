#!/bin/bash
# Train on machines that are reached by ssh; the study stays here, and so do all decisions:
#   EACH=4 ./run.sh runs/carts alpha beta gamma
set -u
study=$1
shift
train=${TRAIN:-cd carts && python train_cart.py}
lease=${LEASE:-2h}

field() { python -c 'import json, sys; print(json.loads(sys.argv[1])[sys.argv[2]])' "$job" "$1"; }

work() {
    for _ in $(seq "${EACH:-4}"); do
        job=$(sdmbtl ask "$study" --space carts.toml --lease "$lease") || return
        report=$(ssh "$1" "$train" <<< "$job")
        case $? in
            0) sdmbtl tell "$study" - <<< "$report" ;;
            255) echo "$1 is lost; others get what it trained in $lease." >&2 && return ;;
            *) sdmbtl tell "$study" --failed --id "$(field id)" --lease "$(field lease)" ;;
        esac
    done
}

for host in "$@"; do work "$host" & done
wait
