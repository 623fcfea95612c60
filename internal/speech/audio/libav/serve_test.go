//go:build cgo

package libav_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec/protocol"
	"github.com/recital-tts/recital/internal/speech/audio/libav"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const engineRate = 22050 // Hz, of espeak-ng

func speech(seconds float64) []byte {
	n := int(seconds * engineRate)
	pcm := make([]byte, 0, 2*n)
	for i := range n {
		sample := int16(12000 * math.Sin(2*math.Pi*300*float64(i)/engineRate))
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(sample))
	}
	return pcm
}

// served is a client of a Serve that runs in this process.
type served struct {
	t   testing.TB
	in  *workers.Writer
	out *workers.Reader
}

func serve(t testing.TB) *served {
	t.Helper()
	requests, in := io.Pipe()
	out, replies := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- libav.Serve(requests, replies) }()
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		require.NoError(t, <-ended)
	})
	return &served{t: t, in: workers.NewWriter(in), out: workers.NewReader(out)}
}

// ask sends a request and returns the next reply.
func (s *served) ask(kind byte, stream uint32, payload []byte) workers.Frame {
	s.t.Helper()
	require.NoError(s.t, s.in.Write(workers.Frame{Kind: kind, Stream: stream, Payload: payload}))
	reply, err := s.out.Read()
	require.NoError(s.t, err)
	require.Equal(s.t, stream, reply.Stream)
	return reply
}

func (s *served) encoded(kind byte, stream uint32, payload []byte) []byte {
	s.t.Helper()
	reply := s.ask(kind, stream, payload)
	require.Equal(s.t, string(protocol.Encoded), string(reply.Kind), "%s", reply.Payload)
	return reply.Payload
}

func (s *served) open(stream uint32, format audio.Format, rate int) {
	s.t.Helper()
	s.encoded(protocol.Open, stream, opening(s.t, format, rate))
}

func opening(t testing.TB, format audio.Format, rate int) []byte {
	t.Helper()
	payload, err := json.Marshal(protocol.Opening{Format: format, SampleRate: rate, InputRate: engineRate})
	require.NoError(t, err)
	return payload
}

func TestABadRequestEndsItsStreamAlone(t *testing.T) {
	for name, bad := range map[string]workers.Frame{
		"unknown kind":       {Kind: '?'},
		"reply as request":   {Kind: protocol.Encoded},
		"opened twice":       {Kind: protocol.Open, Payload: opening(t, audio.MP3, 24000)},
		"half a sample":      {Kind: protocol.Encode, Payload: []byte{1}},
		"too much at once":   {Kind: protocol.Encode, Payload: make([]byte, protocol.MaxEncode+2)},
		"opening of nothing": {Kind: protocol.Open},
	} {
		t.Run(name, func(t *testing.T) {
			// given two streams
			s := serve(t)
			s.open(1, audio.MP3, 24000)
			s.open(2, audio.MP3, 24000)
			before := s.encoded(protocol.Encode, 2, speech(0.5))

			// when one sends an invalid request
			require.Equal(t, protocol.Failed, s.ask(bad.Kind, 1, bad.Payload).Kind)

			// then it has ended, the other continues, and its number can be used again
			require.Equal(t, protocol.Failed, s.ask(protocol.Encode, 1, speech(0.1)).Kind)
			require.Equal(t, protocol.Failed, s.ask(protocol.Finish, 1, nil).Kind)
			require.Equal(t, protocol.Closed, s.ask(protocol.Close, 1, nil).Kind)
			require.NotEmpty(t, s.encoded(protocol.Encode, 2, speech(0.5)))
			s.open(1, audio.MP3, 24000)
			require.Equal(t, before, s.encoded(protocol.Encode, 1, speech(0.5)))
		})
	}
}

func TestRequestsOutsideOfAStreamFail(t *testing.T) {
	s := serve(t)
	require.Equal(t, protocol.Failed, s.ask(protocol.Encode, 7, speech(0.1)).Kind)
	require.Equal(t, protocol.Failed, s.ask(protocol.Finish, 7, nil).Kind)
	require.Equal(t, protocol.Closed, s.ask(protocol.Close, 7, nil).Kind)
	for name, payload := range map[string]string{
		"no JSON":     "\x00",
		"format":      `{"format":"ogg","sample_rate":24000,"input_rate":22050}`,
		"sample rate": `{"format":"mp3","sample_rate":1,"input_rate":22050}`,
		"input rate":  `{"format":"mp3","sample_rate":24000,"input_rate":2147483647}`,
	} {
		require.Equal(t, protocol.Failed, s.ask(protocol.Open, 8, []byte(payload)).Kind, name)
		require.Equal(t, protocol.Closed, s.ask(protocol.Close, 8, nil).Kind)
	}
}

func TestTooManyStreamsAreRefused(t *testing.T) {
	s := serve(t)
	for i := range protocol.MaxStreams {
		s.open(uint32(i), audio.PCMS16LE, 8000)
	}
	reply := s.ask(protocol.Open, protocol.MaxStreams, opening(t, audio.PCMS16LE, 8000))
	require.Equal(t, protocol.Failed, reply.Kind)
	require.Equal(t, protocol.Closed, s.ask(protocol.Close, 0, nil).Kind)
	s.open(protocol.MaxStreams, audio.PCMS16LE, 8000)
}

func TestInputThatIsNoFramesIsAnError(t *testing.T) {
	for name, input := range map[string]string{
		"cut in the header":  "O\x01\x00",
		"cut in the payload": "E\x01\x00\x00\x00\x04\x00\x00\x00ab",
		"too large":          "E\x01\x00\x00\x00\xff\xff\xff\xff",
	} {
		t.Run(name, func(t *testing.T) {
			require.Error(t, libav.Serve(strings.NewReader(input), io.Discard))
		})
	}
	require.NoError(t, libav.Serve(strings.NewReader(""), io.Discard))
}

// The delays of the codecs determine how early the first byte can come. Changes of recipes affect them.
func TestTheFirstBytesComeEarly(t *testing.T) {
	const step = 0.02 // seconds
	for _, c := range []struct {
		format audio.Format
		rate   int
		steps  int // maximum duration of speech before the first output
	}{
		{audio.MP3, 8000, 8}, {audio.MP3, 16000, 4}, {audio.MP3, 24000, 3},
		{audio.AAC, 8000, 14}, {audio.AAC, 16000, 7}, {audio.AAC, 24000, 5},
		{audio.WebM, 8000, 5}, {audio.WebM, 16000, 5}, {audio.WebM, 24000, 5},
		{audio.OggOpus, 24000, 5}, {audio.FLAC, 24000, 8},
		{audio.PCMS16LE, 8000, 1}, {audio.PCMS16LE, 16000, 1}, {audio.PCMS16LE, 24000, 1},
	} {
		t.Run(string(c.format), func(t *testing.T) {
			s := serve(t)
			s.open(1, c.format, c.rate)
			header := len(s.encoded(protocol.Encode, 1, nil))
			steps := 1
			for len(s.encoded(protocol.Encode, 1, speech(step))) <= header {
				header = 0
				steps++
			}
			t.Logf("%s at %d Hz: %d steps of 20 ms", c.format, c.rate, steps)
			require.LessOrEqual(t, steps, c.steps)
		})
	}
}

// Every frame can be decoded by itself, so that a listener can start anywhere.
func TestMP3FramesStandAlone(t *testing.T) {
	for _, rate := range audio.SampleRates() {
		s := serve(t)
		s.open(1, audio.MP3, rate)
		encoded := append(s.encoded(protocol.Encode, 1, speech(1)), s.encoded(protocol.Finish, 1, nil)...)

		frames := 0
		for len(encoded) > 0 {
			size := mp3FrameSize(t, encoded, rate)
			require.GreaterOrEqual(t, len(encoded), size)
			require.Zero(t, encoded[4], "main_data_begin: bytes of earlier frames that this one needs")
			require.False(t, bytes.Contains(encoded[:size], []byte("Xing")) || bytes.Contains(encoded[:size], []byte("Info")))
			encoded = encoded[size:]
			frames++
		}
		require.InDelta(t, rate/576+2, frames, 2)
	}
}

// mp3FrameSize reads the header of an MPEG-2 or 2.5 Layer III frame of one channel (ISO/IEC 13818-3).
func mp3FrameSize(t *testing.T, frame []byte, rate int) int {
	t.Helper()
	require.GreaterOrEqual(t, len(frame), 5)
	require.EqualValues(t, 0xFF, frame[0])
	require.EqualValues(t, 0xE3, frame[1]&0xE7, "Layer III, with the sync word")
	require.EqualValues(t, 3, frame[3]>>6, "one channel")
	kilobits := []int{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0}[frame[2]>>4]
	padding := int(frame[2] >> 1 & 1)
	return 72*kilobits*1000/rate + padding
}
