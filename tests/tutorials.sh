#!/usr/bin/env bash
# tutorials.sh WEFT PAGE: runs the shell blocks of a page of docs/tutorials, one after the other, as a reader would: in an empty directory
# with data/ and configs/ of the repository, `weft` on the path. Stops at the first command that fails.
set -euo pipefail
weft=$(realpath "$1") page=$(realpath "$2") root=$PWD
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
mkdir bin
ln -s "$weft" bin/weft
ln -s "$root/data" "$root/configs" .
{
  echo 'set -euo pipefail'
  awk '/^```/ {inside = ($0 == "```sh"); next} inside' "$page"
} > commands.sh
PATH=$directory/bin:$PATH WEFT_CACHE=$directory/cache bash -x commands.sh
