#!/usr/bin/env bash
# examples.sh PROGRAM NAME: runs an example of docs/examples. One with docs/examples/NAME.yaml is the program `weft` with a part of its
# own: it trains that config, evaluates the model and lists the part's key; any other is run as it is.
set -euo pipefail
program=$1 name=$2
config=docs/examples/$name.yaml
if [ ! -e "$config" ]; then
  exec "$program"
fi
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$program" train "$config" --set run.directory="$directory/run" --set train.threads=2
"$program" evaluate "$directory/run" --data data/spam/test.tsv > "$directory/metrics.json"
grep -q eval_loss "$directory/metrics.json"
