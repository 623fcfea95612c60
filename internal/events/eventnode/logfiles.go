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

// Pebble takes a damaged record of its log for the end of the log, unless it is certain that the record was once
// complete. It infers that only from the blocks that follow, so damage in the last block would silently end the log
// there. Here more is known: a batch is synced before the next one is written, so a record that begins after a
// damaged one proves that the damaged one was complete.

// Pebble's log files consist of blocks, and blocks of chunks, which never cross the end of a block. A chunk is a
// header of checksum (4 bytes), length of the payload (2), kind (1), number of the log file (4) and, in the newer
// form, the offset up to which the file was synced (8); then the payload. See the package record of Pebble.
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

	kindLast = 3 // the fourth of four kinds
)

var errLogDamaged = errors.New("the log file is damaged, and not only at its end")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// tail is what follows the last complete record of a log file: appends that a crash interrupted, which Pebble drops.
type tail struct {
	file    string
	offset  int64 // of its first byte in the file
	bytes   int64
	records int // that can still be told apart: each is a group of appends
}

// checkLogFiles returns the incomplete ends of the log files. Damage that Pebble would take for such an end is an error.
func checkLogFiles(fs vfs.FS, dir string) ([]tail, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("listing the log files: %w", err)
	}
	slices.Sort(names)
	var tails []tail
	for _, name := range names {
		number, _, isLog := wal.ParseLogFilename(name)
		if !isLog {
			continue
		}
		t, err := checkLogFile(fs, fs.PathJoin(dir, name), uint32(number))
		if err != nil {
			return nil, fmt.Errorf("checking %s: %w", name, err)
		}
		if t.bytes > 0 {
			t.file = name
			tails = append(tails, t)
		}
	}
	return tails, nil
}

func checkLogFile(fs vfs.FS, path string, number uint32) (tail, error) {
	f, err := fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return tail{}, err
	}
	t, err := checkBlocks(f, number)
	return t, errors.Join(err, f.Close())
}

func checkBlocks(log io.Reader, number uint32) (tail, error) {
	block := make([]byte, blockSize)
	end := logEnd{number: number}
	for {
		n, err := io.ReadFull(log, block)
		if errors.Is(err, io.EOF) {
			return end.tail(), nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return tail{}, err
		}
		from := 0
		if !end.found {
			from = wholeChunks(block[:n], number)
			end.follow(block[:from])
			end.found = from < n
			from++
		}
		if end.found && beginsRecord(block[:n], from, number) {
			return tail{}, errLogDamaged
		}
		if end.found {
			end.look(block[:n], from-1)
		}
		end.block += int64(n)
	}
}

// logEnd looks for the end of a log file.
type logEnd struct {
	number  uint32
	block   int64 // offset of the current block
	whole   int64 // end of the last complete record
	begun   bool  // a record has begun, and not ended, with complete chunks
	found   bool  // a chunk was incomplete: the end of the log, or damage
	clean   bool  // Pebble has marked the end
	reused  bool  // chunks of an older log follow, which the file had before
	written int64 // end of the last byte that is not zero
	claimed int64 // end of the last chunk with a header of this log
	records int   // headers among them that begin a record
}

// follow passes complete chunks, and a rest that is too short for one: empty, unless the file was cut there.
func (e *logEnd) follow(chunks []byte) {
	for at := 0; at < len(chunks); {
		length, begins := chunkAt(chunks, at, e.number)
		if length == 0 {
			e.see(chunks, at)
			return
		}
		kind := (chunks[at+chunkKind] - chunkFull) % 4
		e.begun = begins && kind != 0 || !begins && e.begun
		at += length
		if kind == 0 || kind == kindLast {
			e.whole, e.begun = e.block+int64(at), false
		}
	}
}

// look examines a block behind the last complete chunk.
func (e *logEnd) look(block []byte, from int) {
	from = max(0, from)
	if e.block+int64(from) == e.whole && isTrailer(block[from:], e.number) {
		e.clean = true
	}
	e.reused = e.reused || holdsOlderChunk(block, from, e.number)
	e.see(block, from)
	for from+chunkHeader <= len(block) {
		length, begins := claimAt(block, from, e.number)
		if length == 0 {
			return
		}
		if begins {
			e.records++
		}
		from += length
		e.claimed = e.block + int64(min(from, len(block)))
	}
}

// see notes the last byte from an offset of a block on that is not zero.
func (e *logEnd) see(block []byte, from int) {
	if used := len(bytes.TrimRight(block, "\x00")); used > from {
		e.written = e.block + int64(used)
	}
}

func (e *logEnd) tail() tail {
	end := e.claimed
	if !e.reused {
		end = max(end, e.written)
	}
	if e.begun {
		e.records++
	}
	if e.clean || end <= e.whole {
		return tail{}
	}
	return tail{offset: e.whole, bytes: end - e.whole, records: max(1, e.records)}
}

// isTrailer reports whether the end of a log is marked there: by the empty header of a log with the next number.
func isTrailer(chunk []byte, number uint32) bool {
	return len(chunk) >= chunkHeader && chunk[chunkKind] == chunkFull &&
		binary.LittleEndian.Uint16(chunk[chunkLength:]) == 0 && binary.LittleEndian.Uint32(chunk[chunkFile:]) == number+1
}

// holdsOlderChunk reports whether a complete chunk of a log with a lower number is in the block: at its start, where
// there is always one, or, in the block that a newer log has overwritten in part, anywhere.
func holdsOlderChunk(block []byte, from int, number uint32) bool {
	for at := from; at+chunkHeader <= len(block); at++ {
		older := binary.LittleEndian.Uint32(block[at+chunkFile:])
		if length, _ := chunkAt(block, at, older); older < number && length > 0 {
			return true
		}
		if from == 0 {
			return false
		}
	}
	return false
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

// beginsRecord reports whether the block has a complete chunk that begins a record at or after an offset.
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

// chunkAt returns the length of the chunk at an offset of a block, including the header, or 0 if it is not complete;
// begins reports whether it begins a record.
func chunkAt(block []byte, at int, number uint32) (length int, begins bool) {
	length, begins = claimAt(block, at, number)
	if length == 0 || at+length > len(block) || checksum(block[at+chunkKind:at+length]) != binary.LittleEndian.Uint32(block[at:]) {
		return 0, false
	}
	return length, begins
}

// claimAt is chunkAt for a header whose chunk need not be complete.
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

// checksum is Pebble's: CRC-32C, rotated and shifted by a constant.
func checksum(data []byte) uint32 {
	sum := crc32.Checksum(data, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}
