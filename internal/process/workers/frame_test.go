package workers_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/process/workers"
)

func anyFrame(r *rapid.T) workers.Frame {
	return workers.Frame{
		Kind:    rapid.Byte().Draw(r, "kind"),
		Stream:  rapid.Uint32().Draw(r, "stream"),
		Payload: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(r, "payload"),
	}
}

func TestFramesAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var pipe bytes.Buffer
		writer := workers.NewWriter(&pipe)
		frames := rapid.SliceOfN(rapid.Custom(anyFrame), 0, 20).Draw(r, "frames")
		for _, frame := range frames {
			require.NoError(r, writer.Write(frame))
		}

		reader := workers.NewReader(iotest.OneByteReader(&pipe))
		for _, want := range frames {
			got, err := reader.Read()
			require.NoError(r, err)
			require.Equal(r, want, got)
		}
		_, err := reader.Read()
		require.Equal(r, io.EOF, err)
	})
}

func TestPayloadsStayValidAfterTheNextRead(t *testing.T) {
	var pipe bytes.Buffer
	writer := workers.NewWriter(&pipe)
	for _, payload := range []string{"first", "other"} {
		require.NoError(t, writer.Write(workers.Frame{Payload: []byte(payload)}))
	}
	reader := workers.NewReader(&pipe)
	first, err := reader.Read()
	require.NoError(t, err)
	_, err = reader.Read()
	require.NoError(t, err)
	require.Equal(t, "first", string(first.Payload))
}

func TestTheLargestFrame(t *testing.T) {
	var pipe bytes.Buffer
	writer := workers.NewWriter(&pipe)
	largest := workers.Frame{Kind: 1, Payload: bytes.Repeat([]byte{7}, workers.MaxPayload)}
	require.NoError(t, writer.Write(largest))
	got, err := workers.NewReader(&pipe).Read()
	require.NoError(t, err)
	require.Equal(t, largest, got)

	largest.Payload = append(largest.Payload, 7)
	require.ErrorIs(t, writer.Write(largest), workers.ErrFrameTooLarge)
	require.Zero(t, pipe.Len(), "no part of it is sent")
}

func TestATooLargeFrameIsRefusedBeforeItIsRead(t *testing.T) {
	for _, size := range []uint32{workers.MaxPayload + 1, 1 << 31, 1<<32 - 1} {
		header := binary.LittleEndian.AppendUint32([]byte{1, 0, 0, 0, 0}, size)
		_, err := workers.NewReader(bytes.NewReader(header)).Read()
		require.ErrorIs(t, err, workers.ErrFrameTooLarge)
	}
}

func TestATruncatedFrameIsAnUnexpectedEnd(t *testing.T) {
	var pipe bytes.Buffer
	require.NoError(t, workers.NewWriter(&pipe).Write(workers.Frame{Kind: 1, Stream: 2, Payload: []byte("payload")}))
	whole := pipe.Bytes()
	for n := 1; n < len(whole); n++ {
		_, err := workers.NewReader(bytes.NewReader(whole[:n])).Read()
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d bytes", n)
	}
}

var errBroken = errors.New("broken")

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errBroken }

func TestAWriterReportsABrokenPipe(t *testing.T) {
	require.ErrorIs(t, workers.NewWriter(brokenPipe{}).Write(workers.Frame{Kind: 1}), errBroken)
	require.ErrorIs(t, workers.NewWriter(brokenPipe{}).Write(workers.Frame{Payload: make([]byte, 1<<17)}), errBroken)
}

// FuzzRead checks that the reader ends for any input, and that its frames encode to the same bytes.
func FuzzRead(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 2, 0, 0, 0, 3, 0, 0, 0, 'a', 'b', 'c'})
	f.Add([]byte{1, 2, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 'a'})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		reader := workers.NewReader(bytes.NewReader(data))
		var again bytes.Buffer
		writer := workers.NewWriter(&again)
		for {
			frame, err := reader.Read()
			if err != nil {
				require.True(t, errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
					errors.Is(err, workers.ErrFrameTooLarge), "%v", err)
				if errors.Is(err, io.EOF) {
					require.Equal(t, len(data), again.Len())
				}
				break
			}
			require.NoError(t, writer.Write(frame))
		}
		require.True(t, bytes.HasPrefix(data, again.Bytes()))
	})
}
