#!/bin/sh
# Installs KernelPoint from its source folder into /opt/kernelpoint, as an image does. Debian 12 or newer, or Ubuntu 24.04; as root.
# Arguments: the source folder; a checkout of Accel-Sim, if the image has one: it is patched and built.
set -e
source="$1"
checkout="$2"
python3 -m venv /opt/kernelpoint
/opt/kernelpoint/bin/pip install --quiet --require-hashes --requirement "$source/requirements/run.txt"
/opt/kernelpoint/bin/pip install --quiet --no-deps --no-build-isolation "$source"
PATH="/opt/kernelpoint/bin:$PATH"
kernelpoint doctor
if [ -n "$checkout" ]; then
    kernelpoint patch accelsim "$checkout"
    make -C "$checkout/gpu-simulator"
fi
