#!/bin/sh
# Checks the types of the console and bundles its two pages with esbuild, a Go program. SOURCES has what npm has
# installed. Usage: console/build.sh SOURCES OUTPUT, in the root of the repository.
set -eu

"$1/node_modules/.bin/tsc" -p "$1"

# bundle SCRIPT OPTION
bundle() {
	"${GO:-go}" tool -modfile=deploy/console.mod esbuild "$1" --bundle --minify --format=esm --target=es2022 \
		--jsx=automatic --jsx-import-source=preact --charset=utf8 --legal-comments=none --log-level=warning "$2"
}
bundle "$1/src/main.tsx" --outdir="$2"
bundle "$1/src/operators/main.tsx" --outfile="$2/operators.js"
