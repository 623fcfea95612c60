#!/bin/sh
# Prints the path of ONNX Runtime's library, with which neuralworker runs voices: RECITAL_ONNXRUNTIME, or else the one
# in a Go module, whose hash the go command checks (32 MB are downloaded once). Only tests of neural voices need it:
# nothing that is built or run does.
set -eu
cd "$(dirname "$0")/.."

if [ -n "${RECITAL_ONNXRUNTIME:-}" ]; then
	echo "$RECITAL_ONNXRUNTIME"
	exit 0
fi
case $(go env GOARCH) in
amd64) folder=x86_64-unknown-linux-gnu ;;
arm64) folder=aarch64-unknown-linux-gnu ;;
*) echo "onnxruntime: there is no library for this processor; set RECITAL_ONNXRUNTIME" >&2; exit 1 ;;
esac
module=github.com/k2-fsa/sherpa-onnx-go-linux
timeout 300 go mod download -modfile=deploy/onnxruntime.mod "$module"
echo "$(go list -m -modfile=deploy/onnxruntime.mod -f '{{.Dir}}' "$module")/lib/$folder/libonnxruntime.so"
