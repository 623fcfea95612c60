package engineproto_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
)

func TestAJobArrivesAsItWasSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := speech.Job{
			Text:     rapid.String().Draw(t, "text"),
			Voice:    rapid.SampledFrom(speech.Voices()).Draw(t, "voice"),
			Language: rapid.SampledFrom(speech.EngineLanguages()).Draw(t, "language"),
			Speed:    rapid.Float64Range(engineproto.SlowestSpeed, speech.MaxSpeed).Draw(t, "speed"),
			NoPause:  rapid.Bool().Draw(t, "no pause"),
		}
		var pipe bytes.Buffer
		require.NoError(t, workers.NewWriter(&pipe).WriteJSON(engineproto.KindJob, engineproto.NewJob(job)))
		frame, err := workers.NewReader(&pipe).Read()
		require.NoError(t, err)
		got, err := engineproto.ParseJob(frame)
		require.NoError(t, err)
		require.Equal(t, engineproto.Job{
			Text: job.Text, Variant: job.Voice.Variant, Language: job.Language, Speed: job.Speed, NoPause: job.NoPause,
		}, got)
	})
}

func TestTheLargestJobFitsIntoAPipe(t *testing.T) {
	job := speech.Job{Text: strings.Repeat("\x00", engineproto.MaxTextBytes), Language: "en-us", Speed: 1}
	require.NoError(t, engineproto.NewJob(job).Check())
	var pipe bytes.Buffer
	require.NoError(t, workers.NewWriter(&pipe).WriteJSON(engineproto.KindJob, engineproto.NewJob(job)))
	require.Less(t, pipe.Len(), 64<<10)

	job.Text += "x"
	require.Error(t, engineproto.NewJob(job).Check())
}

func TestSlowSpeedsAskForTheSlowestThatTheEngineCan(t *testing.T) {
	require.Equal(t, engineproto.SlowestSpeed, engineproto.NewJob(speech.Job{Speed: speech.MinSpeed}).Speed)
}

func TestMarks(t *testing.T) {
	payload := binary.LittleEndian.AppendUint32(nil, 7)
	payload = binary.LittleEndian.AppendUint32(payload, 100)
	payload = binary.LittleEndian.AppendUint32(payload, engineproto.Silence)
	payload = binary.LittleEndian.AppendUint32(payload, 200)
	marks, err := engineproto.ParseMarks(workers.Frame{Kind: engineproto.KindMarks, Payload: payload})
	require.NoError(t, err)
	require.Equal(t, []speech.Mark{{Rune: 7, Sample: 100}, {Sample: 200, Silence: true}}, marks)
}

// Any frame of a broken worker is parsed to an error or a plausible value.
func FuzzParse(f *testing.F) {
	f.Add(byte('h'), []byte{0x22, 0x56, 0, 0})
	f.Add(byte('m'), []byte("12345678"))
	f.Add(byte('e'), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, kind byte, payload []byte) {
		frame := workers.Frame{Kind: kind, Payload: payload}
		if rate, err := engineproto.ParseHello(frame); err == nil {
			require.Greater(t, rate, 0)
		}
		if samples, err := engineproto.ParseEnd(frame); err == nil {
			require.GreaterOrEqual(t, samples, 0)
		}
		if marks, err := engineproto.ParseMarks(frame); err == nil {
			require.Len(t, marks, len(payload)/8)
		}
		_, _ = engineproto.ParseJob(frame)
	})
}

func TestPhonemes(t *testing.T) {
	frame := workers.Frame{
		Kind: engineproto.KindPhonemes,
		Payload: []byte("\x05\x00\x00\x00a\x00xxxxxx\x00\x01\x00\x00aI@12345" +
			"\x00\x02\x00\x00\xff\xfe\x00\x00\x00\x00\x00\x00"),
	}
	marks, err := engineproto.ParsePhonemes(frame)
	require.NoError(t, err)
	require.Equal(t, []speech.Mark{{Phoneme: "a", Sample: 5}, {Phoneme: "aI@12345", Sample: 256}}, marks)
	frame.Payload = frame.Payload[:13]
	_, err = engineproto.ParsePhonemes(frame)
	require.Error(t, err)
}
