#!/usr/bin/env bash
# Regenerate the hash-locked requirements, without any registry's address.
set -euo pipefail
cd "$(dirname "$0")/../requirements"
compile() {
  ../.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
    --no-emit-index-url --no-emit-find-links "$@"
}
compile uv.in -o uv.txt
compile base.in -o base.txt
compile dev.in -c base.txt -c uv.txt -o dev.txt
compile box-numpy.in -o box-numpy.txt
# Environments of boxes with PyTorch's CPU build, which differs from the index's build of the same version.
for name in torch transformers; do
  compile --override without-torch.txt "box-$name.in" -o "box-$name.txt"
  cat torch-cpu.txt >>"box-$name.txt"
done
