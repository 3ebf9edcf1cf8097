#!/bin/sh
# Build a small Debian image with Python, for machines that cannot or should not pull one from a registry.
# Needs root, debootstrap and a running Docker engine. Does nothing if the image exists.
# Usage: make_test_base_image.sh [IMAGE]
set -eu

image="${1:-lmr-board-test-base}"
if docker image inspect "$image" >/dev/null 2>&1; then
    echo "$image exists"
    exit 0
fi

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT INT TERM
echo "making $image with debootstrap; this takes a minute"
if ! debootstrap --variant=minbase --include=python3 bookworm "$folder/root" >"$folder/log" 2>&1; then
    echo "debootstrap failed; the end of its output:" >&2
    tail -n 20 "$folder/log" >&2
    exit 1
fi
rm -rf "$folder/root/var/cache/apt/archives" "$folder/root/var/lib/apt/lists"
tar -C "$folder/root" --exclude=./dev --exclude=./proc --exclude=./sys -c . | docker import - "$image"
