# The box image of one environment. Its build context, made by `python -m evaluator.sandbox.images`, holds only
# `packages/`: what the hash-locked list names, installed outside, so that the build needs no network.
ARG BASE_IMAGE=python:3.11-slim-bookworm
FROM ${BASE_IMAGE}

COPY packages /opt/box/packages
# The box starts Python with -I, which reads no PYTHONPATH: the packages are named where this Python looks.
RUN python3 -I -c "import pathlib, site; folder = pathlib.Path(site.getsitepackages()[0]); \
folder.mkdir(parents=True, exist_ok=True); (folder / 'box.pth').write_text('/opt/box/packages\n')" \
    && { python3 -I -m compileall -q /opt/box/packages || echo "some modules have the syntax of another Python"; } \
    && python3 -I -c "import numpy"

USER 65534:65534
