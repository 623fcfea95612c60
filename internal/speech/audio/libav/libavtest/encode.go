//go:build cgo

package libavtest

// #include <stdlib.h>
// #include "encode.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Kind is a kind of file, in libav's names.
type Kind struct{ Muxer, Codec string }

// Encode encodes interleaved samples as a whole file, like the programs of clients.
func Encode(kind Kind, samples []float32, rate, channels int) ([]byte, error) {
	muxer, codec := C.CString(kind.Muxer), C.CString(kind.Codec)
	defer C.free(unsafe.Pointer(muxer))
	defer C.free(unsafe.Pointer(codec))
	var encoded C.recital_encoded
	defer C.recital_encoded_free(&encoded)
	code := C.recital_encode(muxer, codec, (*C.float)(unsafe.SliceData(samples)), C.int(len(samples)/channels),
		C.int(rate), C.int(channels), &encoded)
	if code < 0 {
		return nil, fmt.Errorf("encoding %s in %s: libav error %d", kind.Codec, kind.Muxer, int(code))
	}
	return C.GoBytes(unsafe.Pointer(encoded.data), encoded.size), nil
}
