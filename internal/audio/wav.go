package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// Format tags of the "fmt " chunk (RFC 2361).
const (
	wavePCM  = 1
	waveULaw = 7
)

// unknownSize stands in a RIFF header whose length is not known yet. Players read such a file to its end; a size of 0
// reads as an empty file in some of them.
const unknownSize = 0xFFFFFFFF

const (
	pcmHeaderSize  = 44 // RIFF, fmt (16 bytes), data
	ulawHeaderSize = 58 // RIFF, fmt (18 bytes), fact, data: what is not PCM needs the longer fmt and the fact chunk
)

// waveHeader is the start of a one-channel WAV file that can be sent before its length is known.
func waveHeader(spec Spec) []byte {
	if spec.Format == ULaw {
		return riff(ulawHeaderSize, waveULaw, spec.SampleRate, 1)
	}
	return riff(pcmHeaderSize, wavePCM, spec.SampleRate, 2)
}

func riff(size, tag, rate, bytesPerSample int) []byte {
	le := binary.LittleEndian
	header := make([]byte, 0, size)
	header = le.AppendUint32(append(header, "RIFF"...), unknownSize)
	header = append(header, "WAVEfmt "...)
	if tag == wavePCM {
		header = le.AppendUint32(header, 16)
	} else {
		header = le.AppendUint32(header, 18)
	}
	header = le.AppendUint16(header, uint16(tag))
	header = le.AppendUint16(header, 1)
	header = le.AppendUint32(header, uint32(rate))
	header = le.AppendUint32(header, uint32(rate*bytesPerSample))
	header = le.AppendUint16(header, uint16(bytesPerSample))
	header = le.AppendUint16(header, uint16(8*bytesPerSample))
	if tag != wavePCM {
		header = le.AppendUint16(header, 0)
		header = le.AppendUint32(append(header, "fact"...), 4)
		header = le.AppendUint32(header, unknownSize)
	}
	return le.AppendUint32(append(header, "data"...), unknownSize)
}

// HasLength tells whether files of the format tell their length in their first bytes. Streams of it cannot: Whole and
// WholeReader put it there.
func (f Format) HasLength() bool { return f.headerSize() > 0 }

func (f Format) headerSize() int {
	switch f {
	case WAV:
		return pcmHeaderSize
	case ULaw:
		return ulawHeaderSize
	}
	return 0
}

// Whole makes a file of an encoder's complete output: a WAV header gets its true sizes, other formats stay as they
// are. It takes encoded over and may change it.
func Whole(spec Spec, encoded []byte) []byte {
	return append(encoded, FinishHeader(spec, encoded, int64(len(encoded)))...)
}

// FinishHeader is Whole for a complete output of so many bytes that is not in one piece: it changes the first piece, and
// gives what is to be added behind the last.
func FinishHeader(spec Spec, first []byte, size int64) (end []byte) {
	header := spec.Format.headerSize()
	if len(first) < header {
		return nil
	}
	return finishHeader(first[:header], size)
}

// WholeReader is Whole for a complete output of so many bytes that is read from somewhere.
func WholeReader(spec Spec, size int64, encoded io.Reader) (io.Reader, error) {
	header := make([]byte, min(int64(spec.Format.headerSize()), size))
	if _, err := io.ReadFull(encoded, header); err != nil {
		return nil, fmt.Errorf("reading the header of a WAV file: %w", err)
	}
	if len(header) < spec.Format.headerSize() {
		return bytes.NewReader(header), nil
	}
	end := finishHeader(header, size)
	return io.MultiReader(bytes.NewReader(header), encoded, bytes.NewReader(end)), nil
}

// finishHeader puts the true sizes into the header of a file of so many bytes, and gives what the file must end with.
func finishHeader(header []byte, size int64) (end []byte) {
	if !bytes.HasPrefix(header, []byte("RIFF")) {
		return nil
	}
	le := binary.LittleEndian
	samples := size - int64(len(header))
	le.PutUint32(header[len(header)-4:], uint32(samples))
	if len(header) == ulawHeaderSize {
		le.PutUint32(header[len(header)-12:], uint32(samples)) // of fact: one byte for each sample
	}
	if samples%2 == 1 {
		end = []byte{0} // chunks have even lengths; the pad byte is not counted in the chunk's own size
	}
	le.PutUint32(header[4:], uint32(size+int64(len(end))-8))
	return end
}
