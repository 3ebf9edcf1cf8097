#!/bin/sh
# Put PyTorch for processors, and NumPy as in requirements/box-numpy.txt, into a folder for an environment's `packages`.
# For tests, and a pattern for an operator's own folder. Does nothing when the folder is as it should be.
# Usage: make_torch_packages.sh TARGET [PYTHON]
set -eu

target="${1:?Usage: make_torch_packages.sh TARGET [PYTHON]}"
python="${2:-python3}"
here="$(cd "$(dirname "$0")/.." && pwd)"
torch=torch==2.13.0
numpy="$(sed -n "s/^\(numpy==[0-9.]*\) ; python_full_version < .*/\1/p" "$here/requirements/box-numpy.txt")"
wanted="$torch $numpy $("$python" -c 'import sys; print(*sys.version_info[:2])') form 2"

if [ "$(cat "$target/made-of" 2>/dev/null)" = "$wanted" ]; then
    echo "$target has $torch"
    exit 0
fi
rm -rf "$target"
umask 022
# pip, not uv: pip finds a processor-only build where one is offered on disk. No bytecode: boxes compile their own.
"$python" -m pip install --quiet --disable-pip-version-check --no-compile --only-binary :all: \
    --target "$target" "$torch" "$numpy"
# What no box needs: tests, headers, the compiler's programs. About 590 MB are left.
rm -rf "$target/torch/include" "$target/torch/test" "$target/torch/share" "$target/bin"
find "$target" -type d -name tests -prune -exec rm -rf {} +
find "$target" -name '*.a' -delete
find "$target/torch/bin" -type f ! -name torch_shm_manager -delete
echo "$wanted" >"$target/made-of"
