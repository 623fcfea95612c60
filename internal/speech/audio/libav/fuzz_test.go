//go:build cgo

package libav_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec/protocol"
	"github.com/recital-tts/recital/internal/speech/audio/libav"
)

// FuzzServeBytes checks that Serve ends properly for any input.
func FuzzServeBytes(f *testing.F) {
	var conversation bytes.Buffer
	out := workers.NewWriter(&conversation)
	for _, frame := range []workers.Frame{
		{Kind: protocol.Open, Stream: 1, Payload: opening(f, audio.MP3, 24000)},
		{Kind: protocol.Encode, Stream: 1, Payload: speech(0.1)},
		{Kind: protocol.Finish, Stream: 1},
		{Kind: protocol.Close, Stream: 1},
	} {
		require.NoError(f, out.Write(frame))
	}
	f.Add(conversation.Bytes())
	f.Add([]byte("E\x01\x00\x00\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, input []byte) {
		_ = libav.Serve(bytes.NewReader(input), &bytes.Buffer{}) // an error is correct, a crash is not
	})
}

// FuzzServeRequests checks that each request gets one reply, in any order of requests.
func FuzzServeRequests(f *testing.F) {
	f.Add([]byte("OEEFC"), []byte{0})
	f.Add([]byte("EOFEFCCO?A"), []byte{1, 2, 3})
	f.Add([]byte("OCOCOE"), []byte{255})
	f.Add([]byte("???OERC"), []byte{1, 2})  // Opus in Ogg
	f.Add([]byte("????OERC"), []byte{1, 2}) // FLAC
	f.Fuzz(func(t *testing.T, kinds, pcm []byte) {
		kinds = kinds[:min(len(kinds), 50)]
		pcm = pcm[:min(len(pcm), 4000)]
		s := serve(t)
		for i, kind := range kinds {
			payload := pcm
			if kind == protocol.Open {
				formats := append(protocol.Codecs(), audio.PCMS16LE)
				payload = opening(t, formats[i%len(formats)], audio.SampleRates()[i%3])
			}
			reply := s.ask(kind, uint32(i/8%2), payload)
			if kind == protocol.Close {
				require.Equal(t, protocol.Closed, reply.Kind)
			} else {
				require.Contains(t, []byte{protocol.Encoded, protocol.Rested, protocol.Failed}, reply.Kind)
			}
		}
	})
}
