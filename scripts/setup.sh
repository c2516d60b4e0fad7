#!/usr/bin/env bash
# Installs what is needed to build Weft; does nothing if everything is present. Debian packages are installed if permitted (root,
# or sudo without a password); otherwise an error lists the missing packages. LibTorch is used from where CMake finds it (LIBTORCH, Torch_DIR,
# CMAKE_PREFIX_PATH, an importable Python `torch`), otherwise it is downloaded into build/libtorch.
#
#   scripts/setup.sh --packages   only lists the Debian packages that a build needs
#   scripts/setup.sh --lint       also installs what scripts/lint needs
#   scripts/setup.sh --browser    also installs the browser in which the tests open reports
#
#   WEFT_TORCH_SPEC   package specification for pip (torch==2.13.0)
#   WEFT_PIP_ARGS     additional arguments for pip, such as --index-url of PyTorch's CPU builds: the default package is,
#                     on many machines, the CUDA build of several gigabytes
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "[setup] $*" >&2; }
give_up() {
  echo "error: setup: $*" >&2
  exit 1
}

# Required Debian packages, each with a command or header that shows whether it is installed.
needs="
g++                      command:c++
cmake                    command:cmake
ninja-build              command:ninja
python3                  command:python3
libsentencepiece-dev     header:sentencepiece_processor.h
libcxxopts-dev           header:cxxopts.hpp
libspdlog-dev            header:spdlog/spdlog.h
libgtest-dev             header:gtest/gtest.h
libyaml-cpp-dev          header:yaml-cpp/yaml.h
nlohmann-json3-dev       header:nlohmann/json.hpp
libutf8proc-dev          header:utf8proc.h
libonig-dev              header:oniguruma.h
zlib1g-dev               header:zlib.h
libzstd-dev              header:zstd.h
libsnappy-dev            header:snappy.h
libpng-dev               header:png.h
libjpeg-dev              header:jpeglib.h
libwebp-dev              header:webp/decode.h
libxxhash-dev            header:xxhash.h
libgoogle-perftools-dev  header:gperftools/tcmalloc.h
"

# Optional packages, installed together with missing ones: MeCab and its dictionary segment Japanese text for BLEU.
companions="libmecab2 mecab-ipadic-utf8"

if [ "${1:-}" = --packages ]; then
  echo "$needs" | awk 'NF {print $1}'
  exit
fi

if [ "${1:-}" = --lint ]; then
  needs+="
clang-format             command:clang-format
clang-tidy               command:clang-tidy
"
fi
if [ "${1:-}" = --browser ]; then
  needs+="
chromium                 command:chromium
"
fi

# Prints those headers from standard input that the compiler does not find.
missing_headers() {
  local header folder folders=()
  for folder in ${CMAKE_PREFIX_PATH:+${CMAKE_PREFIX_PATH//[:;]/ }}; do
    folders+=(-I "$folder/include")
  done
  while read -r header; do
    printf '#if !__has_include(<%s>)\nmissing %s\n#endif\n' "$header" "$header"
  done | c++ -std=c++20 ${folders[@]+"${folders[@]}"} -E -x c++ - | sed -n 's/^missing //p'
}

missing_packages() {
  local package provides headers missing=()
  if command -v c++ >/dev/null; then
    headers=$(echo "$needs" | sed -n 's/.*header://p' | missing_headers)
  else
    headers=$(echo "$needs" | sed -n 's/.*header://p')
  fi
  while read -r package provides; do
    case $provides in
      command:*) command -v "${provides#command:}" >/dev/null || missing+=("$package") ;;
      header:*) ! grep -qxF "${provides#header:}" <<<"$headers" || missing+=("$package") ;;
    esac
  done < <(grep . <<<"$needs")
  echo "${missing[*]:-}"
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

install_packages() {
  local names="$*"
  if ! command -v apt-get >/dev/null; then
    give_up "missing: $names (Debian package names); install them with this system's package manager"
  fi
  if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
    give_up "missing packages; run as root: apt-get install $names"
  fi
  say "installing $names"
  local log
  log=$(mktemp)
  # shellcheck disable=SC2086
  if ! { as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $names; } \
    </dev/null >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    rm -f "$log"
    give_up "apt-get could not install: $names"
  fi
  rm -f "$log"
}

# A pip that also works if the system's Python is externally managed (PEP 668): it only downloads, or uses its own environment.
pip() {
  if python3 -m pip --version >/dev/null 2>&1; then
    python3 -m pip "$@"
    return
  fi
  if [ ! -x build/pip/bin/pip ]; then
    if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
      install_packages python3-venv
    fi
    python3 -m venv build/pip >&2
  fi
  build/pip/bin/pip "$@"
}

# Downloads the wheel and keeps its C++ part: headers, libraries, licence.
fetch_libtorch() {
  local specification=${WEFT_TORCH_SPEC:-torch==2.13.0} partial=build/libtorch.partial
  rm -rf "$partial" build/libtorch
  mkdir -p "$partial/wheel"
  say "downloading $specification as LibTorch into build/libtorch"
  # shellcheck disable=SC2086
  pip download --quiet --no-deps --dest "$partial/wheel" ${WEFT_PIP_ARGS:-} "$specification" </dev/null >&2 ||
    give_up "pip could not download $specification; use LIBTORCH=DIRECTORY for an existing LibTorch"
  python3 - "$partial" <<'PYTHON'
import pathlib, sys, zipfile
target = pathlib.Path(sys.argv[1])
(wheel,) = (target / "wheel").glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        if name.startswith(("torch/include/", "torch/lib/")) or ".dist-info/" in name:
            archive.extract(name, target)
PYTHON
  if [ -e "$partial/torch/lib/libtorch_cuda.so" ]; then
    say "this is a CUDA build: downloading its CUDA libraries (several gigabytes; use WEFT_PIP_ARGS to select a CPU build)"
    # shellcheck disable=SC2086
    pip install --quiet --upgrade --target "$partial" --find-links "$partial/wheel" ${WEFT_PIP_ARGS:-} "$specification" </dev/null >&2 ||
      give_up "pip could not download the CUDA libraries of $specification"
  fi
  rm -rf "$partial/wheel"
  mv "$partial" build/libtorch
}

# CMake decides which LibTorch is used; this only checks whether it finds one.
has_libtorch() {
  cmake -D WEFT_LIBTORCH_OWN="$PWD/build/libtorch/torch" ${LIBTORCH:+-D LIBTORCH="$LIBTORCH"} ${Torch_DIR:+-D Torch_DIR="$Torch_DIR"} \
    -P scripts/cmake/LibTorch.cmake 2>&1
}

missing=$(missing_packages)
if [ -n "$missing" ]; then
  # shellcheck disable=SC2086
  install_packages $missing
  missing=$(missing_packages)
  [ -z "$missing" ] || give_up "still missing after installing them: $missing"
  # shellcheck disable=SC2086
  (install_packages $companions) || say "without $companions the BLEU tokenizer ja-mecab (Japanese) is not available"
fi

version=$(cmake --version | sed -n '1s/[^0-9]*//p')
if [ "$(printf '%s\n' 3.25 "$version" | sort -V | head -n 1)" != 3.25 ]; then
  give_up "CMake $version is too old: 3.25 or later is required"
fi
if ! echo '#include <span>
int main() { return std::span<int>{}.size(); }' | c++ -std=c++20 -fsyntax-only -x c++ - 2>/dev/null; then
  give_up "$(c++ --version | head -n 1) does not compile C++20: use g++ 12 or later"
fi

if ! found=$(has_libtorch); then
  if [ -n "${LIBTORCH:-}" ]; then
    give_up "$(echo "$found" | tr -s '\n ' ' ' | grep -o 'LIBTORCH=.*' | sed 's, Call Stack.*,,')"
  fi
  mkdir -p build
  fetch_libtorch
  found=$(has_libtorch) || give_up "the downloaded package is not a LibTorch: $found"
fi
say "ready: $(echo "$found" | sed -n 's/^-- \(LibTorch [0-9.]*: .*\)/\1/p' | head -n 1), CMake $version, $(c++ --version | head -n 1)"
