#!/bin/sh
# Write a hash-locked requirements file of PyTorch for processors, and NumPy as in requirements/box-numpy.txt.
# For tests, and a pattern for an operator's own file. Does nothing when the file is as it should be.
# Usage: lock_torch.sh FILE [PYTHON]
set -eu

file="${1:?Usage: lock_torch.sh FILE [PYTHON]}"
python="${2:-python3}"
here="$(cd "$(dirname "$0")/.." && pwd)"
torch=torch==2.13.0
numpy="$(sed -n "s/^\(numpy==[0-9.]*\) ; python_full_version < .*/\1/p" "$here/requirements/box-numpy.txt")"
wanted="# $torch $numpy $("$python" -c 'import sys; print(*sys.version_info[:2])')"

if [ "$(head -n 1 "$file" 2>/dev/null)" = "$wanted" ]; then
    echo "$file has $torch"
    exit 0
fi
# pip, not uv: pip finds a processor-only build where one is offered on disk.
"$python" -m pip install --quiet --disable-pip-version-check --dry-run --ignore-installed --only-binary :all: \
    --report "$file.json" "$torch" "$numpy"
{
    echo "$wanted"
    "$python" -c '
import json, sys
for found in json.load(open(sys.argv[1]))["install"]:
    about, hashes = found["metadata"], found["download_info"]["archive_info"]["hashes"]
    print(about["name"] + "==" + about["version"], "--hash=sha256:" + hashes["sha256"])
' "$file.json"
} >"$file.new"
rm "$file.json"
mv "$file.new" "$file"
