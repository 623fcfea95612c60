package audio

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// The ids of elements of Matroska (RFC 9559) and EBML (RFC 8794).
const (
	segmentID     = 0x18538067
	voidID        = 0xEC
	infoID        = 0x1549A966
	clusterID     = 0x1F43B675
	timestampID   = 0xE7
	simpleBlockID = 0xA3
)

const (
	webmHead     = 512  // number of bytes that contain the information about the segment
	endless      = -1   // size of an element that lasts until the next one of its level
	durationSize = 11   // size in bytes of the element with the duration
	opusFrame    = 20.0 // duration of the last block in milliseconds
)

// element is the position of a WebM element.
type element struct {
	id    uint64
	start int64 // of its id
	data  int64
	size  int64 // of its data, or endless
}

// finishWebM returns the first bytes of a live WebM stream, with the duration in place of padding. It returns nil if
// there is no room for it.
func finishWebM(content io.ReaderAt, size int64) ([]byte, error) {
	head := make([]byte, min(webmHead, size))
	if _, err := content.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("reading the beginning of a WebM stream: %w", err)
	}
	padding, info, ok := findInfo(head)
	if !ok {
		return nil, nil
	}
	milliseconds := webmLength(io.NewSectionReader(content, 0, size))
	if milliseconds == 0 {
		return nil, nil
	}
	putDuration(head, padding, info, milliseconds)
	return head, nil
}

// findInfo returns the information about the segment, and the padding immediately before it.
func findInfo(head []byte) (padding, info element, ok bool) {
	w := webmReader{from: bufio.NewReader(bytes.NewReader(head))}
	for {
		next, ok := w.next()
		switch {
		case !ok || next.size > int64(len(head)):
			return padding, info, false
		case next.id == infoID:
			whole := padding.id == voidID && padding.data-padding.start == 9 && padding.size > durationSize &&
				next.data-next.start == 5 && next.size < 0x7f-durationSize
			return padding, next, whole
		case next.id == segmentID:
			continue
		case next.size == endless || !w.skip(next.size):
			return padding, info, false
		}
		padding = next
	}
}

// putDuration inserts the duration in place of padding.
func putDuration(head []byte, padding, info element, milliseconds float64) {
	head[padding.start+1] = 1 // first byte of the eight-byte size
	size := binary.BigEndian.Uint64(head[padding.start+1:]) - durationSize
	binary.BigEndian.PutUint64(head[padding.start+1:], size)
	start := info.start - durationSize
	moved := binary.BigEndian.AppendUint32(nil, infoID)
	moved = append(moved, 0x80|byte(info.size+durationSize), 0x44, 0x89, 0x88)
	moved = binary.BigEndian.AppendUint64(moved, math.Float64bits(milliseconds))
	copy(head[start:], moved)
	index := []byte{0x53, 0xAB, 0x84, 0x15, 0x49, 0xA9, 0x66, 0x53, 0xAC, 0x81}
	if at := bytes.Index(head[:padding.start], index); at >= 0 && head[at+len(index)] > durationSize {
		head[at+len(index)] -= durationSize
	}
}

// webmLength returns the time of the end of the last block in milliseconds.
func webmLength(content io.Reader) (length float64) {
	w := webmReader{from: bufio.NewReaderSize(content, 64<<10)}
	cluster := 0.0
	for {
		next, ok := w.next()
		if !ok {
			return length
		}
		switch next.id {
		case segmentID, clusterID:
			continue
		case timestampID:
			cluster = float64(w.number(next.size))
			continue
		case simpleBlockID:
			if next.size >= 4 {
				w.skip(1) // the number of the track
				length = cluster + float64(int16(w.number(2))) + opusFrame
				next.size -= 3
			}
		}
		if next.size == endless || !w.skip(next.size) {
			return length
		}
	}
}

// webmReader reads the elements of a stream in order.
type webmReader struct {
	from *bufio.Reader
	at   int64
}

func (w *webmReader) next() (e element, ok bool) {
	e.start = w.at
	id, _, ok := w.vint(4)
	if !ok {
		return e, false
	}
	size, bits, ok := w.vint(8)
	if !ok {
		return e, false
	}
	e.id, e.data, e.size = id, w.at, int64(size&(1<<bits-1))
	if size&(1<<bits-1) == 1<<bits-1 {
		e.size = endless
	}
	return e, true
}

// vint reads a variable-length number including its marker. bits is the number of bits after the marker.
func (w *webmReader) vint(most int) (value uint64, bits int, ok bool) {
	first, err := w.from.ReadByte()
	if err != nil || first == 0 {
		return 0, 0, false
	}
	length := 1
	for first<<(length-1)&0x80 == 0 {
		length++
	}
	w.at++
	if length > most {
		return 0, 0, false
	}
	return uint64(first)<<(8*(length-1)) | w.number(int64(length-1)), 7 * length, true
}

// number reads a number of size bytes, at most eight. It returns 0 at the end of the stream.
func (w *webmReader) number(size int64) (value uint64) {
	if size < 0 || size > 8 {
		return 0
	}
	for range size {
		b, err := w.from.ReadByte()
		if err != nil {
			return 0
		}
		w.at++
		value = value<<8 | uint64(b)
	}
	return value
}

func (w *webmReader) skip(size int64) bool {
	if size < 0 || size > math.MaxInt32 {
		return false
	}
	n, err := w.from.Discard(int(size))
	w.at += int64(n)
	return err == nil
}
