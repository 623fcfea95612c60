package flite

/*
#cgo CFLAGS: -O2 -Wall -Wextra
#cgo LDFLAGS: -lflite_cmu_us_slt -lflite_cmu_us_rms -lflite_cmu_us_awb -lflite_usenglish -lflite_cmulex -lflite -lm
#include <stdlib.h>
#include "synth.h"
*/
import "C"

import (
	"errors"
	"runtime/cgo"
	"strings"
	"unsafe"
)

// utterance is a phrase for flite.
type utterance struct {
	text    string   // ASCII; soundByte for words that are spoken as phones
	phones  []string // of each of these words
	voice   voice
	pitch   float64 // a factor
	width   float64 // of the pitch's range, a factor
	rises   bool    // at the end, as a question
	stretch float64 // a factor on durations
}

// open loads the voices and returns their sample rate in Hz.
func open() (int, error) {
	rate := C.synth_open()
	if rate <= 0 {
		return 0, errors.New("loading the voices of flite")
	}
	return int(rate), nil
}

// speak passes the output of flite to a performance: the words, then the samples.
func (u utterance) speak(to *performance) error {
	text := C.CString(u.text)
	defer C.free(unsafe.Pointer(text))
	phones := C.CString(strings.Join(append(u.phones, ""), "\n"))
	defer C.free(unsafe.Pointer(phones))
	handle := cgo.NewHandle(to)
	defer handle.Delete()
	phrase := (*C.struct_synth_phrase)(C.calloc(1, C.sizeof_struct_synth_phrase)) // flite keeps a pointer to it
	defer C.free(unsafe.Pointer(phrase))
	phrase.sink, phrase.text, phrase.voice = C.uintptr_t(handle), text, C.int32_t(u.voice.base)
	phrase.phones = phones
	phrase.pitch, phrase._range = C.float(u.voice.pitch*u.pitch), C.float(u.voice.width*u.width)
	if u.rises {
		phrase.rises = 1
	}
	phrase.stretch, phrase.warp = C.float(u.voice.stretch*u.stretch), C.float(u.voice.warp)
	if C.synth_speak(phrase) != 0 {
		return errors.New("flite could not speak a phrase")
	}
	return nil
}

//export synthWord
func synthWord(handle C.uintptr_t, token *C.char, same C.int, start, end C.float) {
	cgo.Handle(handle).Value().(*performance).word(C.GoString(token), same != 0, float64(start), float64(end))
}

// synthSamples stops the synthesis by returning a value other than 0.
//
//export synthSamples
func synthSamples(handle C.uintptr_t, samples *C.short, count C.int) C.int {
	pcm := unsafe.Slice((*int16)(unsafe.Pointer(samples)), int(count))
	if cgo.Handle(handle).Value().(*performance).samples(pcm) != nil {
		return 1
	}
	return 0
}
