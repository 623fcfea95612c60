package eventnode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// Pebble takes a damaged record of a log file for the end of the log, unless it is certain that the record was
// complete. It infers that only from later blocks, so damage in the last block would silently end the log there. The
// node knows more: a batch is synced before the next one is written. So a record that starts after a damaged one proves
// that the damaged one was complete.

// Pebble's log files consist of blocks, and blocks of chunks, which never cross the end of a block. A chunk has a
// header and a payload. The header has a checksum (4 bytes), the length of the payload (2), the kind (1), the number of
// the log file (4) and, in the newer form, the offset up to which the file was synced (8). See Pebble's package record.
const (
	blockSize       = 32 << 10
	chunkLength     = 4  // offset of the length in the header
	chunkKind       = 6  // offset of the kind
	chunkFile       = 7  // offset of the number of the file
	chunkHeader     = 11 // length of the header
	chunkSyncHeader = 19 // length of the newer header

	chunkFull     = 5 // first of the four kinds with a number: full, first, middle, last
	chunkSyncFull = 9 // first of the four kinds with a synced offset
	chunkKindsEnd = 13
)

var errLogDamaged = errors.New("the log file is damaged before its end")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checkLogFiles returns the names of the log files that end in an incomplete write, as after a crash. Pebble drops such
// a write. If there is damage that Pebble would take for an incomplete write, checkLogFiles returns an error.
func checkLogFiles(fs vfs.FS, dir string) (torn []string, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("listing the log files: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		number, _, isLog := wal.ParseLogFilename(name)
		if !isLog {
			continue
		}
		incomplete, err := checkLogFile(fs, fs.PathJoin(dir, name), uint32(number))
		if err != nil {
			return nil, fmt.Errorf("checking %s: %w", name, err)
		}
		if incomplete {
			torn = append(torn, name)
		}
	}
	return torn, nil
}

func checkLogFile(fs vfs.FS, path string, number uint32) (torn bool, err error) {
	f, err := fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return false, err
	}
	torn, err = checkBlocks(f, number)
	return torn, errors.Join(err, f.Close())
}

// checkBlocks reports whether the header of an incomplete chunk follows the last complete one. Without such a header,
// the log ends there, or the rest of the file is from an earlier use.
func checkBlocks(log io.Reader, number uint32) (torn bool, err error) {
	block := make([]byte, blockSize)
	for ended := false; ; {
		n, err := io.ReadFull(log, block)
		if errors.Is(err, io.EOF) {
			return torn, nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return false, err
		}
		from := 0
		if !ended {
			end := wholeChunks(block[:n], number)
			ended, from = end < n, end+1
			length, _ := claimAt(block[:n], end, number)
			torn = length > 0
		}
		if ended && beginsRecord(block[:n], from, number) {
			return false, errLogDamaged
		}
	}
}

// wholeChunks returns the offset of the first incomplete chunk of a block, or the length of the block.
func wholeChunks(block []byte, number uint32) int {
	at := 0
	for at+chunkHeader <= len(block) {
		length, _ := chunkAt(block, at, number)
		switch {
		case length > 0:
			at += length
		case blockSize-at < chunkSyncHeader: // no chunk of the newer form fits
			return len(block)
		default:
			return at
		}
	}
	return len(block)
}

// beginsRecord reports whether a complete chunk at or after an offset of the block starts a record.
func beginsRecord(block []byte, from int, number uint32) bool {
	wanted := binary.LittleEndian.AppendUint32(nil, number)
	for from+chunkHeader <= len(block) {
		offset := bytes.Index(block[from+chunkFile:], wanted)
		if offset < 0 {
			return false
		}
		if length, begins := chunkAt(block, from+offset, number); length > 0 && begins {
			return true
		}
		from += offset + 1
	}
	return false
}

// chunkAt returns the length of the chunk at an offset of a block, including its header, or 0 if it is not complete.
// begins is whether it starts a record.
func chunkAt(block []byte, at int, number uint32) (length int, begins bool) {
	length, begins = claimAt(block, at, number)
	if length == 0 || at+length > len(block) ||
		checksum(block[at+chunkKind:at+length]) != binary.LittleEndian.Uint32(block[at:]) {
		return 0, false
	}
	return length, begins
}

// claimAt is like chunkAt, but the chunk may be incomplete.
func claimAt(block []byte, at int, number uint32) (length int, begins bool) {
	if at+chunkHeader > len(block) {
		return 0, false
	}
	kind := block[at+chunkKind]
	if kind < chunkFull || kind >= chunkKindsEnd || binary.LittleEndian.Uint32(block[at+chunkFile:]) != number {
		return 0, false
	}
	header := chunkHeader
	if kind >= chunkSyncFull {
		header = chunkSyncHeader
	}
	const kindsThatBegin = 2 // full and first
	return header + int(binary.LittleEndian.Uint16(block[at+chunkLength:])), (kind-chunkFull)%4 < kindsThatBegin
}

// checksum returns Pebble's checksum: CRC-32C, rotated and shifted by a constant.
func checksum(data []byte) uint32 {
	sum := crc32.Checksum(data, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}
