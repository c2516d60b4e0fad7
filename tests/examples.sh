#!/usr/bin/env bash
# examples.sh PROGRAM NAME: runs an example of docs/examples. One with docs/examples/NAME.yaml is the program `weft` with a part of its
# own: it trains that config and evaluates the model; any other is run as it is. Lines `# expect: NAME` of the config name further
# metrics that the evaluation must report.
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
for metric in eval_loss $(sed -n 's/^# expect: //p' "$config"); do
  grep -q "\"$metric\"" "$directory/metrics.json" || { echo "$config: the evaluation reports no $metric" >&2; exit 1; }
done
