package decode

import "bytes"

// sniffed is how many bytes of an upload decide on its container.
const sniffed = 12

// containerOf returns the name of the container that begins with some bytes, and "" for one that is not supported. What
// a client says of its upload does not count, and no other demuxer ever looks at it.
func containerOf(head []byte) string {
	switch {
	case hasAt(head, 0, "RIFF") && hasAt(head, 8, "WAVE"), hasAt(head, 0, "RF64") && hasAt(head, 8, "WAVE"):
		return "wav"
	case hasAt(head, 0, "fLaC"):
		return "flac"
	case hasAt(head, 0, "OggS"):
		return "ogg"
	case hasAt(head, 0, "\x1A\x45\xDF\xA3"): // EBML (RFC 8794)
		return "webm"
	case isMP4(head):
		return "mp4"
	case hasAt(head, 0, "ID3"), isMP3Frame(head):
		return "mp3"
	}
	return ""
}

func hasAt(head []byte, offset int, magic string) bool {
	return len(head) >= offset && bytes.HasPrefix(head[offset:], []byte(magic))
}

// isMP4 recognises the boxes that files begin with (ISO/IEC 14496-12); older ones have no ftyp.
func isMP4(head []byte) bool {
	for _, box := range []string{"ftyp", "moov", "mdat", "free", "skip", "wide"} {
		if hasAt(head, 4, box) {
			return true
		}
	}
	return false
}

// isMP3Frame recognises the header of a Layer III frame (ISO/IEC 11172-3, 2.4.1.3).
func isMP3Frame(head []byte) bool {
	if len(head) < 4 || head[0] != 0xFF || head[1]&0xE0 != 0xE0 {
		return false
	}
	version, layer, bitRate, rate := head[1]>>3&3, head[1]>>1&3, head[2]>>4, head[2]>>2&3
	return version != 1 && layer == 1 && bitRate != 0 && bitRate != 15 && rate != 3
}
