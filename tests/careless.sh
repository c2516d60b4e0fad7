#!/usr/bin/env bash
# careless.sh WEFT: commands as careless users type them, in an empty directory with data/ and configs/ of the repository. Each must end
# with the expected status and a message that names the place, what was found, and what is allowed or comes next.
set -euo pipefail
weft=$(realpath "$1") root=$PWD
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
ln -s "$root/data" "$root/configs" .
export WEFT_CACHE=$directory/cache OMP_NUM_THREADS=1
cases=0 failures=0

# ends STATUS LINE PHRASE ARGUMENT...: runs weft. A line of its output that begins with LINE must contain the phrase.
ends() {
  local expected=$1 line=$2 phrase=$3 output lines status=0
  shift 3
  output=$("$weft" "$@" 2>&1 < /dev/null) || status=$?
  cases=$((cases + 1))
  lines=$(grep "^$line" <<< "$output" || true)
  if [ "$status" != "$expected" ] || [[ $lines != *"$phrase"* ]]; then
    failures=$((failures + 1))
    printf 'weft %s\n  status %s, expected %s with: %s\n%s\n' "$*" "$status" "$expected" "$phrase" "$output" >&2
  fi
}
refused() { ends 2 'error: ' "$@"; }
works() { ends 0 '' "$@"; }

# A classifier and a language model, both tiny and hardly trained.
train='{duration: 4 steps, save_every: 2 steps, schedule: {warmup: 1 steps}'
cat > spam.yaml <<END
model: {preset: bert-tiny, dim: 32, layers: 1}
tokenizer: {vocab_size: 500}
data: {train: [{path: data/spam/train.tsv}], evaluate: [{path: data/spam/dev.tsv}]}
objective: {type: classify}
train: $train, batch_sequences: 8, evaluate_every: 2 steps}
run: {directory: spam}
END
cat > text.yaml <<END
model: {preset: gpt-mini, dim: 32, layers: 1, attention: {heads: 2}, feed_forward: {width: 64}}
tokenizer: {type: characters}
data: {train: [{path: data/held_out.txt}]}
objective: {type: causal}
train: $train, batch_tokens: 256, evaluate_every: never}
run: {directory: text}
END
works 'saved spam/checkpoint-4' train spam.yaml
works 'saved text/checkpoint-4' train text.yaml

# Files that are not what they should be.
: > empty.csv
printf 'text,label\n' > header.csv
printf 'text,label\na b,yes\nc d,yes\n' > one_class.csv
printf 'text,label\na b,yes\nc d,no\n' > other_classes.csv
printf 'text\na b\n' > unlabelled.csv
printf 'comment,mark\na b,ham\nc d,spam\n' > other_columns.csv
printf '\x89PNG\r\n\x1a\n\0\0\0\rIHDR' > image.txt
printf '\xff\xfeh\0i\0\n\0' > windows.txt
printf 'learning_rate: 5e-5\nnum_train_epochs: 3\noutput_dir: out\n' > trainer.yaml
printf 'model: {preset: bert-tiny\ndim: [\n' > broken.yaml
mkdir folder

# The command line.
ends 2 '' 'Usage: weft COMMAND'
refused "unknown command 'trian', did you mean 'train'?" trian spam.yaml
refused "unknown option '--verison', did you mean '--version'?" --verison
refused 'too few arguments, must be: weft train CONFIG' train
refused "unknown option '--outptu', did you mean '--output'?" train spam.yaml --outptu other
refused "unknown option '--epochs'; keys of the config are set with --set KEY=VALUE" train spam.yaml --epochs 3
refused 'must be key=value, as in' train spam.yaml --set train.optimizer.lr
refused '2 arguments, too many' evaluate spam data/spam/test.tsv
for command in $("$weft" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
  works "Usage: weft $command" "$command" --help
done

# Configs.
refused 'missing.yaml: no such file, must be a config (YAML); `weft init TASK DATA > missing.yaml` writes one' train missing.yaml
refused 'data/spam/train.tsv: a data file, must be a config (YAML); `weft init TASK data/spam/train.tsv' train data/spam/train.tsv
refused 'spam: a directory, must be a config (YAML), as spam/config.yaml' train spam
refused 'folder: a directory, must be a config (YAML)' config check folder
refused "trainer.yaml:2:1: num_train_epochs: unknown key 'num_train_epochs', did you mean 'train.duration'" train trainer.yaml
refused "trainer.yaml:3:1: output_dir: unknown key 'output_dir', did you mean 'run.directory'" config check trainer.yaml
refused "broken.yaml:2:" train broken.yaml
refused "unknown key 'modle', did you mean 'model'?" train spam.yaml --set modle.dim=3
refused "'fast' is not a number, must be a number > 0" train spam.yaml --set train.optimizer.lr=fast
refused "'3' has no unit, must be a number with the unit steps, epochs" train spam.yaml --set train.duration=3
refused "'gpu' is not one of auto, cpu, cuda" train spam.yaml --set run.device=gpu
refused 'does not divide dim 33' train spam.yaml --set model.dim=33
works 'learning_rate is called train.optimizer.lr here' config explain learning_rate
refused "unknown key 'no_such_key'" config explain no_such_key

# Data.
data() { local phrase=$1 config=$2; refused "$phrase" train "$config" --output new --set "data.train=[{$3}]"; }
data "data.train.0.path: 'data/spam/trian.tsv': no such file" spam.yaml 'path: data/spam/trian.tsv'
data 'data/spam: a directory without .txt files, must have one subdirectory' spam.yaml 'path: data/spam'
data 'empty.csv: empty, expected a header line with the column names' spam.yaml 'path: empty.csv'
data 'header.csv: no rows, must have at least one' spam.yaml 'path: header.csv'
data "no column text or sentence1 or sentence, choose one of 'comment', 'mark'" spam.yaml 'path: other_columns.csv'
data "'message' is not a column of data/spam/train.tsv, which has 'label', 'text'" spam.yaml 'path: data/spam/train.tsv, text: message'
data 'data/held_out.txt: not a table, labelled texts must be in csv' spam.yaml 'path: data/held_out.txt'
data 'folder: no text to train on' text.yaml 'path: folder'
data 'image.txt: a PNG image, allowed is text' text.yaml 'path: image.txt'
data 'windows.txt: UTF-16 text, must be UTF-8' text.yaml 'path: windows.txt'
refused 'only one class (yes), there must be at least two' \
  train spam.yaml --output new --set 'data.train=[{path: one_class.csv}]' --set 'data.evaluate=[]'
refused "other_classes.csv, row 1: 'yes' is not one of the classes ham, spam" \
  train spam.yaml --output new --set 'data.evaluate=[{path: other_classes.csv}]'
refused 'data.train: null, must be a list of maps, as in [{path: a.txt}]' train spam.yaml --set data.train=null
refused 'data: missing, but required' train trainer.yaml

# Models and runs.
hub='model not found: the directory does not exist; a model of the Hugging Face Hub is downloaded with `hf download'
refused "bert-base-uncased: $hub" train spam.yaml --set init_from=bert-base-uncased
refused "google/bert: $hub" predict google/bert hello
refused "data: not a model: neither config.json nor a run's \`best\` or \`last\` exists" predict data hello
refused 'spam.yaml: not a model' predict spam.yaml hello
refused 'folder: not a model' inspect folder
refused "'bert-tiny' contradicts the model in init_from" train spam.yaml --set init_from=text --output new
refused 'the run cannot be resumed because config keys have changed: run.seed was 1, is 2 (change them back, choose another --output' \
  train spam.yaml --set run.seed=2
refused 'data.train[0].path was data/held_out.txt, is data/spam/train.tsv' train spam.yaml --output text
refused 'spam.yaml is not a directory' train spam.yaml --output spam.yaml
works 'nothing to do' train spam.yaml
works '"label":' predict spam hello
works '"label":' predict spam/checkpoint-2 hello
refused 'missing.csv: cannot be opened' predict spam --input missing.csv
refused "other_columns.csv: no column text or sentence1 or sentence, choose one of 'comment', 'mark' with --text-column" \
  predict spam --input other_columns.csv
refused 'image.txt: a PNG image, allowed is text' predict spam --input image.txt
refused 'has no head that predicts for a text. `weft generate` writes texts with it' predict text hello
refused 'cannot generate text, must be a model with a causal' generate spam --prompt hello
refused 'cannot compute likelihoods of texts' score spam --input data/spam/test.tsv
refused '--data FILE is required' evaluate spam
refused '--data missing.tsv: no such file' evaluate spam --data missing.tsv
refused "other_columns.csv: no column text" evaluate spam --data other_columns.csv
refused "no column label, choose one of 'text'" evaluate spam --data unlabelled.csv
refused "other_classes.csv, row 1: 'yes' is not one of the classes ham, spam" evaluate spam --data other_classes.csv
refused 'data/spam/test.tsv: not a model' evaluate data/spam/test.tsv --data spam
refused '--output DIR is required' export spam
refused "'spam' exists and is not an empty directory" export spam --output spam
refused 'data: no tokenizer found, must have one of tokenizer.json' tokenizer encode --model data
refused 'missing: not a run directory' compare spam missing
refused 'runs: no such directory; give the one that has the runs' list

# A first config.
refused "unknown task 'clasify', did you mean 'classify'?" init clasify data/spam/train.tsv
refused '1 argument, too few: weft init TASK DATA' init classify
refused 'missing.csv: no such file' init classify missing.csv
refused 'folder: a directory without .txt files, must have one subdirectory' init classify folder
refused "no column with 2 to 200 classes that occur more than once found; the columns are 'text', 'label'" init classify one_class.csv
works 'objective: {type: classify}' init classify data/spam/train.tsv

echo "$cases commands, $failures with another result" >&2
[ "$failures" = 0 ]
