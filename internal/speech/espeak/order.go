package espeak

import "encoding/binary"

// order is a job for espeak-ng. Each part is a separate utterance.
type order struct {
	rehearsal bool // its audio is discarded
	phonemes  bool // the phonemes are reported
	// The output is the phonemes of clauses in IPA, without audio.
	transcription bool
	parts         []part
}

// part corresponds to struct runner_part in runner.h.
type part struct {
	start    int // code points of the job's text before it
	voice    voice
	rate     int // words per minute
	pitch    int
	width    int // of the pitch's range
	volume   int
	wordGap  int
	endPause bool
	trimmed  bool // see runner.h
	faint    int  // see runner.h
	silence  int  // samples
	sounds   bool // the text has phonemes in double brackets
	text     string
	breaks   []uint32 // see cleanText
}

// encode encodes the order as runner.h defines it.
func (o order) encode() []byte {
	native := binary.NativeEndian
	var out []byte
	for _, value := range []int{number(o.rehearsal), number(o.phonemes), number(o.transcription), len(o.parts)} {
		out = native.AppendUint32(out, uint32(value))
	}
	for _, p := range o.parts {
		for _, value := range []int{
			p.start, p.rate, p.pitch, p.width, p.volume, p.wordGap, number(p.endPause), number(p.trimmed), number(p.sounds),
			p.faint, p.silence, len(p.voice.name) + 1, len(p.voice.lines), len(p.text) + 1, len(p.breaks),
		} {
			out = native.AppendUint32(out, uint32(value))
		}
		out = append(append(out, p.voice.name...), 0)
		out = append(out, p.voice.lines...)
		out = append(append(out, p.text...), 0)
		for _, at := range p.breaks {
			out = native.AppendUint32(out, at)
		}
	}
	return out
}

// number returns 1 for true, and 0 for false.
func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
