#!/bin/sh
# Checks the types of the console and bundles its two pages with esbuild, a Go program. SOURCES must contain the npm
# packages. Usage: console/build.sh SOURCES OUTPUT, in the root of the repository.
set -eu

"$1/node_modules/.bin/tsc" -p "$1"

# bundle OPTION SCRIPT...
bundle() {
	"${GO:-go}" tool -modfile=deploy/console.mod esbuild "$@" --bundle --minify --format=esm --target=es2022 \
		--jsx=automatic --jsx-import-source=preact --charset=utf8 --legal-comments=none --log-level=warning
}
bundle --outdir="$2" "$1/src/main.tsx" "$1/src/card.tsx" "$1/src/worklet.ts"
bundle --outfile="$2/operators.js" "$1/src/operators/main.tsx"
