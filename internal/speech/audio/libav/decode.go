//go:build cgo

package libav

// #include <stdlib.h>
// #include "encoder.h"
// #include "decoder.h"
import "C"

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime/cgo"
	"unsafe"

	"github.com/recital-tts/recital/internal/process/confine"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/audio/decode/protocol"
)

// decodingMemory limits the private memory of a decoding process in bytes. It includes the Go runtime's 50 MiB, a cover
// picture and the index of an hour of audio.
const decodingMemory = 256 << 20

// ServeDecode decodes an upload as internal/speech/audio/decode/protocol defines. The process confines itself before it
// reads the first byte of the upload. The returned error is an error of in or out, or of confining.
func ServeDecode(in io.Reader, out io.Writer) error {
	if missing := C.recital_open_libraries(); missing != nil {
		return fmt.Errorf("%w: %s", ErrNotLoaded, C.GoString(missing))
	}
	C.recital_silence()
	C.recital_end_at_limit()
	d := &decoding{in: workers.NewReader(in), out: workers.NewWriter(out)}
	opening, err := d.opening()
	if err != nil {
		return err
	}
	if err := confine.Process(confine.Limits{Memory: decodingMemory, CPUSeconds: uint64(opening.CPUSeconds)}); err != nil {
		return errors.Join(err, d.fail(protocol.Unconfined))
	}
	return d.decode(opening)
}

// decoding is the decoding of an upload. It receives the output of libav.
type decoding struct {
	in  *workers.Reader
	out *workers.Writer
	err error // of in or out
}

func (d *decoding) opening() (protocol.Opening, error) {
	frame, err := d.in.Read()
	if err != nil {
		return protocol.Opening{}, fmt.Errorf("reading what to decode: %w", err)
	}
	opening, err := workers.ParseJSON[protocol.Opening](frame, protocol.Open)
	return opening, cmp.Or(err, opening.Check())
}

// demuxers maps containers to libav's names, where these differ.
func demuxers() map[string]string { return map[string]string{"mp4": "mov", "webm": "matroska"} }

func (d *decoding) decode(opening protocol.Opening) error {
	demuxer := C.CString(cmp.Or(demuxers()[opening.Container], opening.Container))
	defer C.free(unsafe.Pointer(demuxer))
	handle := cgo.NewHandle(d)
	defer handle.Delete()
	upload := C.recital_upload{
		sink: C.uintptr_t(handle), demuxer: demuxer, rate: C.int(opening.Rate),
		size: C.int64_t(opening.Size), max_samples: C.int64_t(opening.MaxSamples),
	}
	var decoded C.recital_decoded_upload
	switch failure := C.recital_decode_upload(&upload, &decoded); {
	case failure < 0:
		return d.err
	case failure > 0:
		return d.fail(protocol.Failure(failure))
	}
	return d.out.WriteJSON(protocol.End, protocol.Ended{Samples: int64(decoded.samples), Damaged: decoded.damaged != 0})
}

func (d *decoding) fail(failure protocol.Failure) error {
	return d.out.Write(workers.Frame{Kind: protocol.Failed, Payload: []byte{byte(failure)}})
}

// read fills buffer with bytes of the upload. It returns fewer at the upload's end.
func (d *decoding) read(offset int64, buffer []byte) (int, error) {
	place := protocol.Place{Offset: offset, Length: min(len(buffer), protocol.MaxRead)}
	if err := d.out.WriteJSON(protocol.Read, place); err != nil {
		return 0, err
	}
	frame, err := d.in.Read()
	if err != nil {
		return 0, err
	}
	if frame.Kind != protocol.Data || len(frame.Payload) > place.Length {
		return 0, errors.New("the reply does not match the request")
	}
	return copy(buffer, frame.Payload), nil
}

func (d *decoding) samples(samples []int16) error {
	pcm := make([]byte, 0, min(2*len(samples), protocol.MaxAudio))
	for len(samples) > 0 {
		n := min(len(samples), protocol.MaxAudio/2)
		pcm = pcm[:0]
		for _, sample := range samples[:n] {
			pcm = binary.LittleEndian.AppendUint16(pcm, uint16(sample))
		}
		if err := d.out.Write(workers.Frame{Kind: protocol.Audio, Payload: pcm}); err != nil {
			return err
		}
		samples = samples[n:]
	}
	return nil
}

// uploadRead returns the number of bytes, or -1 after an error.
//
//export uploadRead
func uploadRead(handle C.uintptr_t, offset C.int64_t, buffer *C.uint8_t, size C.int) C.int {
	d := cgo.Handle(handle).Value().(*decoding)
	n, err := d.read(int64(offset), unsafe.Slice((*byte)(buffer), int(size)))
	if err != nil {
		d.err = fmt.Errorf("reading the upload: %w", err)
		return -1
	}
	return C.int(n)
}

// uploadSamples returns a value other than 0 to stop the decoding, like uploadTrack.
//
//export uploadSamples
func uploadSamples(handle C.uintptr_t, samples *C.int16_t, count C.int) C.int {
	d := cgo.Handle(handle).Value().(*decoding)
	return stopOn(d, d.samples(unsafe.Slice((*int16)(samples), int(count))))
}

//export uploadTrack
func uploadTrack(handle C.uintptr_t, codec *C.char, rate, channels C.int) C.int {
	d := cgo.Handle(handle).Value().(*decoding)
	track := protocol.Track{Codec: C.GoString(codec), Rate: int(rate), Channels: int(channels)}
	return stopOn(d, d.out.WriteJSON(protocol.Format, track))
}

func stopOn(d *decoding, err error) C.int {
	if err == nil {
		return 0
	}
	d.err = fmt.Errorf("handing samples over: %w", err)
	return 1
}
