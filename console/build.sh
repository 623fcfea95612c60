#!/bin/sh
# Checks the types of the console and bundles it with esbuild, a Go program. SOURCES has what npm has installed.
# Usage: console/build.sh SOURCES OUTPUT, in the root of the repository.
set -eu

"$1/node_modules/.bin/tsc" -p "$1"
"${GO:-go}" tool -modfile=deploy/console.mod esbuild "$1/src/main.tsx" --bundle --minify --format=esm --target=es2022 \
	--jsx=automatic --jsx-import-source=preact --charset=utf8 --legal-comments=none --log-level=warning --outdir="$2"
