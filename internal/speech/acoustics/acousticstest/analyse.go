package acousticstest

import (
	"encoding/binary"

	"github.com/recital-tts/recital/internal/speech/acoustics"
)

// Analyse measures a whole recording.
func Analyse(samples []int16, config acoustics.Config) (acoustics.Report, acoustics.Statistics) {
	pcm := make([]byte, 0, 2*len(samples))
	for _, s := range samples {
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(s))
	}
	analyser := acoustics.New(config)
	_, _ = analyser.Write(pcm) // never fails
	return analyser.Finish()
}
