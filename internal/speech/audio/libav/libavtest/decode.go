//go:build cgo

// Package libavtest decodes and encodes audio in tests. Decoding stops at the first error that libav detects.
package libavtest

// #cgo pkg-config: libavcodec libavformat libavutil libswresample
// #cgo CFLAGS: -O2 -Wall
// #include <stdlib.h>
// #include "decode.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/recital-tts/recital/internal/speech/audio"
)

// Decoded is the content of a decoded file.
type Decoded struct {
	Samples  []float32
	Rate     int // Hz
	Channels int
}

// Seconds returns the duration.
func (d Decoded) Seconds() float64 { return float64(len(d.Samples)) / float64(d.Rate) }

// Decode decodes a whole file in a compressed or WAV format.
func Decode(format audio.Format, data []byte) (Decoded, error) {
	demuxer := C.CString(demuxerFor(format))
	defer C.free(unsafe.Pointer(demuxer))
	var decoded C.recital_decoded
	defer C.recital_decoded_free(&decoded)
	code := C.recital_decode((*C.uint8_t)(unsafe.SliceData(data)), C.size_t(len(data)), demuxer, &decoded)
	if code < 0 {
		return Decoded{}, fmt.Errorf("decoding %s: libav error %d", format, int(code))
	}
	samples := make([]float32, int(decoded.length))
	copy(samples, unsafe.Slice((*float32)(decoded.samples), len(samples)))
	return Decoded{Samples: samples, Rate: int(decoded.rate), Channels: int(decoded.channels)}, nil
}

func demuxerFor(format audio.Format) string {
	switch format {
	case audio.WebM:
		return "matroska"
	case audio.ULaw:
		return "wav"
	case audio.OggOpus:
		return "ogg"
	default:
		return string(format)
	}
}
