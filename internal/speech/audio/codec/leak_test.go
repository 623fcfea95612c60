//go:build linux && cgo

package codec_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// residentBytes returns the RSS of a process (proc_pid_statm(5)).
func residentBytes(t *testing.T, pid int) int {
	t.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	require.NoError(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	require.NoError(t, err)
	return pages * os.Getpagesize()
}

func TestMemoryGoesBackAfterACrowd(t *testing.T) {
	pool := openPool(t, 1, time.Minute)
	pid := pool.PIDs()[0]
	before := residentBytes(t, pid)
	aac := audio.Spec{Format: audio.AAC, SampleRate: 24000}
	var streams []audio.Encoder
	for range 200 {
		stream, err := pool.Open(context.Background(), aac, engineRate)
		require.NoError(t, err)
		streams = append(streams, stream)
		_, err = stream.Encode(context.Background(), tone(engineRate, 0.1))
		require.NoError(t, err)
	}
	peak := residentBytes(t, pid) - before

	for _, stream := range streams {
		stream.Close()
	}
	requireStreams(t, pool, 0)

	kept := residentBytes(t, pid) - before
	t.Logf("%d KiB before, %d KiB more for 200 streams, of which %d KiB stayed", before>>10, peak>>10, kept>>10)
	require.Less(t, kept, peak/3)
}

func TestMemoryStaysFlatOverManyStreams(t *testing.T) {
	longtest.Only(t)
	pool := openPool(t, 1, time.Minute)
	pid := pool.PIDs()[0]
	speech := tone(engineRate, 0.1)
	cycle := func(i int) {
		spec := audio.Spec{
			Format:     []audio.Format{audio.MP3, audio.AAC, audio.WebM, audio.PCMS16LE, audio.OggOpus, audio.FLAC}[i/3%6],
			SampleRate: audio.SampleRates()[i%3],
		}
		stream, err := pool.Open(context.Background(), spec, engineRate)
		require.NoError(t, err)
		defer stream.Close()
		_, err = stream.Encode(context.Background(), append([]byte(nil), speech...))
		require.NoError(t, err)
		if i/12%2 == 0 { // the others are abandoned in the middle
			_, err = stream.Finish(context.Background())
			require.NoError(t, err)
		}
	}
	for i := range 240 {
		cycle(i)
	}
	before := residentBytes(t, pid)
	for i := range 1200 {
		cycle(i)
	}
	grown := residentBytes(t, pid) - before
	t.Logf("%d KiB before, grown by %d KiB", before>>10, grown>>10)
	require.Less(t, grown, 128<<20) // fragments of the heap take up to 60 MiB, leaked encoders over 1 GiB
}
