#!/bin/sh
# Runs promtool, which checks the alert rules: that of this machine, or else the one of Debian's package prometheus,
# taken out of it into bin/ because the package would also start a server.
set -eu
cd "$(dirname "$0")/.."

if command -v promtool >/dev/null; then
	exec promtool "$@"
fi
if [ ! -x bin/promtool ]; then
	mkdir -p bin
	folder=$(mktemp -d)
	trap 'rm -rf "$folder"' EXIT
	echo "promtool: taking it out of Debian's package prometheus (19 MB)" >&2
	download() { (cd "$folder" && apt-get download --quiet prometheus >/dev/null 2>&1); }
	download || { apt-get update --quiet >/dev/null 2>&1 && download; } ||
		{ echo "promtool: apt-get download failed; install the package prometheus by hand" >&2; exit 1; }
	dpkg-deb --fsys-tarfile "$folder"/prometheus_*.deb | tar -x -C "$folder" ./usr/bin/promtool
	mv "$folder/usr/bin/promtool" bin/promtool
	rm -rf "$folder"
	trap - EXIT
fi
exec bin/promtool "$@"
