#!/bin/sh
# Prints the folder in which tests keep their files: one in memory where there is plenty of it, else that for temporary
# files. A test cluster of Postgres has a thousand files, and on a disk their creation and removal takes most of the
# time of the tests.
set -eu

plenty=8388608 # KiB
memory=/dev/shm

free() { df -Pk "$memory" | awk 'NR == 2 {print $4}'; }
available() { awk '/^MemAvailable:/ {print $2}' /proc/meminfo; }

# runs reports whether programs may be run from there, which containers often forbid.
runs() {
	program=$(mktemp "$memory/recital-XXXXXX") || return
	printf '#!/bin/sh\n' >"$program"
	chmod 700 "$program"
	"$program" && ran=0 || ran=1
	rm -f "$program"
	return $ran
}

if [ -w "$memory" ] && [ "$(free)" -ge $plenty ] && [ "$(available)" -ge $plenty ] && runs 2>/dev/null; then
	echo "$memory"
else
	echo "${TMPDIR:-/tmp}"
fi
