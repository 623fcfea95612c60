package audio

import (
	"bytes"
	"encoding/binary"
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

// Whole makes a file of an encoder's complete output: a WAV header gets its true sizes, other formats stay as they
// are. It takes encoded over and may change it.
func Whole(spec Spec, encoded []byte) []byte {
	size := pcmHeaderSize
	switch spec.Format {
	case WAV:
	case ULaw:
		size = ulawHeaderSize
	default:
		return encoded
	}
	if len(encoded) < size || !bytes.HasPrefix(encoded, []byte("RIFF")) {
		return encoded
	}
	le := binary.LittleEndian
	samples := len(encoded) - size
	le.PutUint32(encoded[size-4:], uint32(samples))
	if spec.Format == ULaw {
		le.PutUint32(encoded[size-12:], uint32(samples)) // of fact: one byte for each sample
	}
	if samples%2 == 1 {
		encoded = append(encoded, 0) // chunks have even lengths; the pad byte is not counted in the chunk's own size
	}
	le.PutUint32(encoded[4:], uint32(len(encoded)-8))
	return encoded
}
