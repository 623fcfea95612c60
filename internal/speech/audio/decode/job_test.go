package decode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/decode/protocol"
)

// FuzzAProcessThatLies gives recitald arbitrary frames from a process that its upload has taken over. It must not read
// or write more than permitted, and any end is the upload's fault.
func FuzzAProcessThatLies(f *testing.F) {
	track, end := []byte(`{"codec": "flac", "rate": 8000, "channels": 1}`), []byte(`{"samples": 2}`)
	for _, frames := range [][]workers.Frame{
		{{Kind: protocol.Read, Payload: []byte(`{"offset": 3, "length": 4}`)},
			{Kind: protocol.Format, Payload: track}, {Kind: protocol.Audio, Payload: make([]byte, 4)},
			{Kind: protocol.End, Payload: end}},
		{{Kind: protocol.Read, Payload: []byte(`{"offset": -1, "length": -1}`)}},
		{{Kind: protocol.Format, Payload: track}, {Kind: protocol.Format, Payload: track}},
		{{Kind: protocol.Audio, Payload: make([]byte, 3)}},
		{{Kind: protocol.Audio, Payload: make([]byte, 300)}},
		{{Kind: protocol.End, Payload: end}},
		{{Kind: protocol.Failed, Payload: []byte{'l'}}},
		{{Kind: protocol.Failed}},
	} {
		var seed bytes.Buffer
		writer := workers.NewWriter(&seed)
		for _, frame := range frames {
			require.NoError(f, writer.Write(frame))
		}
		f.Add(seed.Bytes())
	}
	const most = 100 // samples
	f.Fuzz(func(t *testing.T, output []byte) {
		var pcm bytes.Buffer
		upload := bytes.NewReader(make([]byte, 10))
		process := &workers.Process{In: workers.NewWriter(io.Discard), Out: workers.NewReader(bytes.NewReader(output))}
		j := &job{worker: process, upload: upload, pcm: &pcm, unread: readingBudget(upload.Size()), alive: func() {}}
		err := j.run(protocol.Opening{MaxSamples: most})
		require.LessOrEqual(t, pcm.Len(), 2*most)
		if err == nil {
			require.EqualValues(t, pcm.Len(), 2*j.decoded.Samples)
			return
		}
		var unusable *audio.UnusableError
		known := errors.As(err, &unusable) || errors.Is(err, errLost) || domain.CodeOf(err) == domain.Unavailable
		require.True(t, known, "%v", err)
	})
}

func TestAProcessReadsAnUploadOnlySoOften(t *testing.T) {
	upload := bytes.NewReader(make([]byte, 10))
	process := &workers.Process{In: workers.NewWriter(io.Discard)}
	j := &job{worker: process, upload: upload, unread: readingBudget(upload.Size()), alive: func() {}}
	reading := workers.Frame{Kind: protocol.Read, Payload: fmt.Appendf(nil, `{"length": %d}`, protocol.MaxRead)}
	var err error
	reads := 0
	for ; err == nil; reads++ {
		require.Less(t, reads, 1000)
		_, err = j.take(reading, protocol.Opening{})
	}
	require.Equal(t, broken(), err)
	require.Greater(t, reads, 500)
}
