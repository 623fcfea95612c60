package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// Format tags of the "fmt " chunk (RFC 2361).
const (
	wavePCM  = 1
	waveULaw = 7
)

// unknownSize is the size in a RIFF header if the length is unknown. Players read such a file to its end. Some of them
// would treat a file with size 0 as empty.
const unknownSize = 0xFFFFFFFF

const (
	pcmHeaderSize  = 44 // RIFF, fmt (16 bytes), data
	ulawHeaderSize = 58 // RIFF, fmt (18 bytes), fact, data: formats other than PCM need the longer fmt and the fact chunk
)

// waveHeader returns the header of a one-channel WAV file of unknown length.
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
		header = le.AppendUint32(header, 0) // players would trust any other number of samples
	}
	return le.AppendUint32(append(header, "data"...), unknownSize)
}

func (f Format) headerSize() int {
	switch f {
	case WAV:
		return pcmHeaderSize
	case ULaw:
		return ulawHeaderSize
	}
	return 0
}

// Whole turns an encoder's complete output into a file. It sets the sizes in a WAV header and the duration of WebM, and
// leaves other formats unchanged. It takes ownership of encoded and may modify it.
func Whole(spec Spec, encoded []byte) []byte {
	head, end, _ := completion(spec.Format, bytes.NewReader(encoded), int64(len(encoded))) // memory cannot fail
	copy(encoded, head)
	return append(encoded, end...)
}

// completion returns the first bytes of an encoder's complete output as a file, and bytes to append to it. Both are
// empty if nothing changes.
func completion(format Format, content io.ReaderAt, size int64) (head, end []byte, err error) {
	if format == WebM {
		head, err = finishWebM(content, size)
		return head, nil, err
	}
	header := make([]byte, format.headerSize())
	if len(header) == 0 || size < int64(len(header)) {
		return nil, nil, nil
	}
	if _, err := content.ReadAt(header, 0); err != nil {
		return nil, nil, fmt.Errorf("reading the header of a WAV file: %w", err)
	}
	return header, finishHeader(header, size), nil
}

// File is an encoder's complete output in pieces or on disk.
type File interface {
	io.ReaderAt
	io.Writer // appends
	Size() int64
	Overwrite(p []byte, offset int64) error
}

// FinishFile is like Whole for a File.
func FinishFile(spec Spec, file File) error {
	head, end, err := completion(spec.Format, file, file.Size())
	if err != nil || head == nil {
		return err
	}
	if err := file.Overwrite(head, 0); err != nil {
		return fmt.Errorf("completing the beginning of a file: %w", err)
	}
	if _, err := file.Write(end); err != nil {
		return fmt.Errorf("completing the end of a file: %w", err)
	}
	return nil
}

// finishHeader sets the sizes in the header of a file of size bytes, and returns bytes to append to the file.
func finishHeader(header []byte, size int64) (end []byte) {
	if !bytes.HasPrefix(header, []byte("RIFF")) {
		return nil
	}
	le := binary.LittleEndian
	samples := size - int64(len(header))
	le.PutUint32(header[len(header)-4:], uint32(samples))
	if len(header) == ulawHeaderSize {
		le.PutUint32(header[len(header)-12:], uint32(samples)) // of fact: one byte per sample
	}
	if samples%2 == 1 {
		end = []byte{0} // chunks have even lengths; the pad byte is not counted in the chunk's own size
	}
	le.PutUint32(header[4:], uint32(size+int64(len(end))-8))
	return end
}

// encodeULaw appends the µ-law code of each sample of pcm (signed 16-bit little-endian) to dst.
func encodeULaw(dst, pcm []byte) []byte {
	dst = slices.Grow(dst, len(pcm)/2)
	for i := 0; i+1 < len(pcm); i += 2 {
		dst = append(dst, ulaw(int16(binary.LittleEndian.Uint16(pcm[i:]))))
	}
	return dst
}

// ulaw compresses a sample as in ITU-T G.711 table 2, with the arithmetic of the reference implementation (ITU-T G.191,
// ulaw_compress). The 14-bit magnitude plus a bias of 33 determines a segment (its highest set bit) and four bits
// within it. All bits are sent inverted. Like the reference, it uses the one's complement of negative samples.
func ulaw(sample int16) byte {
	const (
		bias = 33
		top  = 0x1FFF
	)
	magnitude, sign := int(sample), byte(0x80)
	if sample < 0 {
		magnitude, sign = int(^sample), 0
	}
	magnitude = min(magnitude>>2+bias, top)
	segment := 0
	for rest := magnitude >> 6; rest != 0; rest >>= 1 {
		segment++
	}
	step := magnitude >> (segment + 1) & 0xF
	return sign | byte(7-segment)<<4 | byte(0xF-step)
}
