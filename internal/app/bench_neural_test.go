package app_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/voicepack"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// askFor returns a request for a text with the given number of words by an installed voice, as 16-bit samples at 24,000
// Hz.
func (o operator) askFor(voice string, words int) string {
	text := strings.Join(strings.Fields("The quick brown fox jumps over the lazy dog while seven wizards watch from the " +
		"old stone wall, and nobody in town knows why they laugh")[:words], " ") + "."
	return post("/v1/ai/speech/bytes", "x-api-key: "+o.key+"\r\n",
		fmt.Sprintf(`{"text":%q,"voice":%q,"language":"en-US","format":"raw","sample_rate":24000}`, text, voice))
}

// withVoice starts a recitald and installs the voice of a package.
func withVoice(b *testing.B, folder string) (o operator, voice string) {
	b.Helper()
	cfg := config(b)
	cfg.ONNXRuntime = neuraltest.Runtime(b)
	a := open(b, cfg)
	o = operator{b, "http://" + a.PublicAddr(), "http://" + a.AdminAddr(), secret(b, cfg, "dev-api-key"),
		secret(b, cfg, "operator-token")}
	response, got := o.install(folder)
	require.Equal(b, http.StatusOK, response.StatusCode, string(got))
	manifest, err := os.ReadFile(filepath.Join(folder, voicepack.ManifestFile))
	require.NoError(b, err)
	m, err := voicepack.Parse(manifest)
	require.NoError(b, err)
	return o, m.ID
}

// BenchmarkNeuralFirstAudio measures the time to the first samples of an installed VITS voice, by number of words.
func BenchmarkNeuralFirstAudio(b *testing.B) {
	o, voice := withVoice(b, neuraltest.Weights(b, neuraltest.VITS))
	for _, words := range []int{5, 12, 25} {
		b.Run(fmt.Sprint(words), func(b *testing.B) {
			conn, request := dial(b, strings.TrimPrefix(o.public, "http://")), o.askFor(voice, words)
			_, err := conn.ask(request)
			require.NoError(b, err)
			var waits times
			for b.Loop() {
				firstByte, err := conn.ask(request)
				require.NoError(b, err)
				waits.add(firstByte)
			}
			b.ReportMetric(milliseconds(waits.quantile(0.5)), "p50-ms")
			b.ReportMetric(milliseconds(waits.quantile(0.99)), "p99-ms")
			benchtest.Finish(b)
		})
	}
}

// BenchmarkNeuralStreams measures the delay of samples in four concurrent streams during playback: 0 is without a gap.
func BenchmarkNeuralStreams(b *testing.B) {
	o, voice := withVoice(b, neuraltest.Weights(b, neuraltest.VITS))
	var gaps times
	for b.Loop() {
		var clients sync.WaitGroup
		for range 4 {
			conn := dial(b, strings.TrimPrefix(o.public, "http://"))
			clients.Go(func() {
				gap, err := conn.listen(o.askFor(voice, 25))
				if err != nil {
					b.Error(err)
				}
				gaps.add(gap)
			})
		}
		clients.Wait()
	}
	b.ReportMetric(milliseconds(gaps.quantile(1)), "late-ms")
	benchtest.Finish(b)
}

// listen sends a request and returns the maximum delay of samples for a listener who starts playback at the first one.
func (c *client) listen(request string) (late time.Duration, err error) {
	if _, err := io.WriteString(c.conn, request); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %s", response.Status)
	}
	var begun time.Time
	heard, buffer := 0, make([]byte, 4096)
	for {
		n, err := response.Body.Read(buffer)
		switch {
		case n > 0 && heard == 0:
			begun = time.Now()
		case n > 0:
			due := begun.Add(time.Duration(heard) * time.Second / (2 * 24000))
			late = max(late, time.Since(due))
		}
		heard += n
		if errors.Is(err, io.EOF) {
			return late, nil
		}
		if err != nil {
			return 0, err
		}
	}
}
