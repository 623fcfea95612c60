#!/bin/sh
# Has the judges hear the voices of the recitald that works in the data folder. They are in an environment of their own,
# which is made once, from packages with pinned hashes. Arguments are those of judge.py.
set -eu
here=$(dirname "$0")
judges=${XDG_CACHE_HOME:-$HOME/.cache}/recital/judges-$(sha256sum "$here/requirements.txt" | cut -c 1-12)
if [ ! -e "$judges/ready" ]; then
	/usr/bin/python3 -m venv --clear --system-site-packages "$judges"
	"$judges/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
		--requirement "$here/requirements.txt"
	touch "$judges/ready"
fi
OMP_NUM_THREADS=1 exec nice -n 10 "$judges/bin/python" "$here/judge.py" "$@"
