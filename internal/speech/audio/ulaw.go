package audio

import (
	"encoding/binary"
	"slices"
)

// encodeULaw appends the µ-law code of each sample of pcm (signed 16-bit little-endian) to dst.
func encodeULaw(dst, pcm []byte) []byte {
	dst = slices.Grow(dst, len(pcm)/2)
	for i := 0; i+1 < len(pcm); i += 2 {
		dst = append(dst, ulaw(int16(binary.LittleEndian.Uint16(pcm[i:]))))
	}
	return dst
}

// ulaw compresses a sample as in ITU-T G.711 table 2, in the arithmetic of the reference implementation (ITU-T G.191,
// ulaw_compress): the 14-bit magnitude plus a bias of 33 determines a segment (its highest set bit) and four bits
// within it; all bits are sent inverted. Negative samples use the one's complement, as there.
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
