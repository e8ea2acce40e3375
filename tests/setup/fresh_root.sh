#!/bin/sh
# Installs a wheel in a root folder that has the system's /usr and nothing of this user, with another Python than the wheel was built
# with, and runs `kernelpoint doctor` and `kernelpoint demo` there. As root, on Linux; nothing outside FOLDER is written.
#   tests/setup/fresh_root.sh FOLDER build/dist/kernelpoint-*.whl     FOLDER/wheels: the wheels of all packages that it needs (pip download)
set -e
if [ -z "$KERNELPOINT_ROOT" ]; then
    export KERNELPOINT_ROOT="$(mkdir -p "$1" && cd "$1" && pwd)"
    cp "$2" "$KERNELPOINT_ROOT/wheels/"
    exec unshare --mount --propagation private sh "$0"
fi
root="$KERNELPOINT_ROOT"
mkdir -p "$root/usr" "$root/etc" "$root/proc" "$root/dev" "$root/tmp" "$root/opt" "$root/home"
for name in bin lib lib64 sbin; do
    if [ -L "/$name" ]; then ln -sfn "$(readlink "/$name")" "$root/$name"; else mkdir -p "$root/$name" && mount --bind "/$name" "$root/$name"; fi
done
for name in usr etc dev proc; do mount --rbind "/$name" "$root/$name"; done
mount -o remount,bind,ro "$root/usr"
cat > "$root/tmp/go.sh" <<'END'
set -e
cd /home
/usr/bin/python3 -m venv --clear /opt/kernelpoint
/opt/kernelpoint/bin/pip install --quiet --no-index --find-links /wheels kernelpoint
/opt/kernelpoint/bin/kernelpoint doctor
/opt/kernelpoint/bin/kernelpoint demo
END
exec chroot "$root" /usr/bin/env -i HOME=/home PATH=/usr/bin:/bin TERM=dumb sh /tmp/go.sh
