module github.com/recital-tts/recital

go 1.26.0

// Only its file lib/…/libonnxruntime.so is used, of which it is the package.
require github.com/k2-fsa/sherpa-onnx-go-linux v1.12.31
