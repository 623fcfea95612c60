//go:build cgo

// Package libav encodes speech and decodes uploads with FFmpeg's libraries (libavcodec, libavformat, libavutil,
// libswresample 5.1). Only cmd/speechworker links it. recitald communicates with that process through
// internal/speech/audio/codec and internal/speech/audio/decode.
package libav

// #cgo LDFLAGS: -Wl,--as-needed
// #cgo pkg-config: libavcodec libavformat libavutil libswresample
// #cgo CFLAGS: -O2 -Wall
// #include <stdlib.h>
// #include "encoder.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/recital-tts/recital/internal/speech/audio/codec/protocol"
)

var errHalfSample = errors.New("the audio ends within a sample")

// encoder is a stream in libav. It must not be used concurrently, and after an error it can only be closed.
type encoder struct{ c *C.recital_encoder }

func openEncoder(opening protocol.Opening) (*encoder, error) {
	recipe := recipeFor(opening)
	var strings []unsafe.Pointer
	defer func() {
		for _, s := range strings {
			C.free(s)
		}
	}()
	cString := func(s string) *C.char {
		if s == "" {
			return nil
		}
		p := C.CString(s)
		strings = append(strings, unsafe.Pointer(p))
		return p
	}
	var e encoder
	c := C.recital_recipe{
		codec:         cString(recipe.codec),
		codec_options: cString(recipe.codecOptions),
		muxer:         cString(recipe.muxer),
		muxer_options: cString(recipe.muxerOptions),
		bit_rate:      C.int64_t(recipe.bitRate),
		input_rate:    C.int(opening.InputRate),
		output_rate:   C.int(opening.SampleRate),
	}
	if before := opening.Continues; before != nil {
		c.continues, c.at, c.silence = 1, C.int64_t(before.At), C.int(before.Silence)
	}
	if err := failure(C.recital_encoder_open(&e.c, &c)); err != nil {
		return nil, fmt.Errorf("opening a stream of %s: %w", opening.Format, err)
	}
	return &e, nil
}

// encode encodes whole samples and returns the bytes that are ready.
func (e *encoder) encode(pcm []byte) ([]byte, error) {
	if len(pcm)%2 != 0 {
		return nil, errHalfSample
	}
	if len(pcm) > 0 {
		samples := (*C.uint8_t)(unsafe.SliceData(pcm))
		err := failure(C.recital_encoder_push(e.c, samples, C.int(len(pcm)/2)))
		runtime.KeepAlive(pcm)
		if err != nil {
			return nil, fmt.Errorf("encoding: %w", err)
		}
	}
	return e.take(), nil
}

// finish returns the last bytes. Nothing can be encoded after it.
func (e *encoder) finish() ([]byte, error) {
	if err := failure(C.recital_encoder_finish(e.c)); err != nil {
		return nil, fmt.Errorf("finishing a stream: %w", err)
	}
	return e.take(), nil
}

// rest returns the last bytes, without samples that the codec still holds, and the point where another stream
// continues. Nothing can be encoded after it.
func (e *encoder) rest() (protocol.Continued, []byte, error) {
	var at, silence C.int64_t
	if err := failure(C.recital_encoder_rest(e.c, &at, &silence)); err != nil {
		return protocol.Continued{}, nil, fmt.Errorf("ending a stream that continues: %w", err)
	}
	return protocol.Continued{At: int64(at), Silence: int64(silence)}, e.take(), nil
}

func (e *encoder) take() []byte {
	var length C.size_t
	output := C.recital_encoder_take(e.c, &length)
	return C.GoBytes(unsafe.Pointer(output), C.int(length))
}

// close frees the stream. It may be called more than once.
func (e *encoder) close() {
	C.recital_encoder_close(e.c)
	e.c = nil
}

func failure(code C.int) error {
	if code >= 0 {
		return nil
	}
	var text [128]C.char
	C.recital_error_text(code, &text[0], C.size_t(len(text)))
	return errors.New(C.GoString(&text[0]))
}
