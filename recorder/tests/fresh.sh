#!/usr/bin/env bash
# What recording promises, shown from nothing: a clone, a new virtual environment, `pip install .`, PyTorch and frameworks
# from the package index; then every example with its verdict, the whole test suite, and the overhead. Needs Rust, Python,
# git, some 8 GB of disk and half an hour; nothing of it runs in CI.
#
#     recorder/tests/fresh.sh FOLDER [PACKAGE...]
#
# FOLDER must not exist. The packages are torch, transformers, accelerate and lightning, unless others are given, such as
# torch==2.6.0 transformers==4.57.6: an example runs where its framework is installed, and in that version.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,/^set/p' "$0" | grep '^#' >&2; exit 2; }
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$(dirname "$1")"
mkdir "$1"
folder=$(cd "$1" && pwd)
shift
[ $# -ge 1 ] || set -- torch transformers accelerate lightning

step() { printf '\n== %s\n' "$*"; }

step "clone and environment"
git clone --quiet "$source" "$folder/clone"
python3 -m venv "$folder/venv"
export PATH="$folder/venv/bin:$PATH"
unset PYTHONPATH
git -C "$folder/clone" log -1 --format='%h %s'

step "pip install ."
pip install --quiet --disable-pip-version-check "$folder/clone"

step "pip install $*"
pip install --quiet --disable-pip-version-check "$@"

step "what was installed"
# Whatever is imported from here on was installed: the package's source is gone from the clone.
rm -r "$folder/clone/recorder/accumulation_receipt"
export RECEIPT="$folder/venv/bin/receipt"
cd "$folder"
[ "$(command -v receipt)" = "$RECEIPT" ]
receipt --version
python -c 'import accumulation_receipt; print(accumulation_receipt.__file__)'
python -c 'import torch; print("torch", torch.__version__)'
pip list --disable-pip-version-check 2>/dev/null | grep -E '^(accumulation-receipt|transformers|accelerate|lightning) '

step "every example that these packages allow, each with its verdict; and the whole test suite"
cd "$folder/clone"
EXAMPLES=1 python -m unittest discover -s recorder/tests -t recorder

step "killed by the system in the middle of a window"
cd "$folder"
python clone/recorder/examples/plain.py --fault killed killed.jsonl || true
tail -n 1 killed.jsonl
receipt verify --partial killed.jsonl

step "two processes"
python clone/recorder/examples/ddp.py ddp
receipt verify ddp/rank-*.jsonl

step "overhead"
python clone/recorder/examples/overhead.py --limit 1.0 --bytes 300
