// Package reporttest measures the speech of this service and prints the figures: the errors of alignment, the distances
// of clones from the voices of their recordings, the results of the precheck in noise, the loudness of voices, and the
// share of texts with the expected spoken text. It also writes the gains that bring all voices to one loudness.
package reporttest

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/worker"
)

var (
	report   = flag.String("report", "", "the report: align, clone, precheck, loudness, calibrate, normalise or nemo")
	cases    = flag.String("cases", "", "the folder of NeMo-text-processing's English cases")
	only     = flag.String("only", "", "part of the names of the references that the report of clones is about")
	packages = flag.String("packages", "",
		"folders of installed voices of which clones may be made, for the report of clones, separated by commas")
	most = flag.Int("most", 1000, "sentences that are held out of a reference, at most, for the report of clones")
	root = flag.String("root", "/", "the folder below which Debian's packages of asterisk's prompts are unpacked")
)

const (
	speechworker = "../../../bin/speechworker"
	gains        = "../gains.tsv" // written by calibrate
)

func TestReport(t *testing.T) {
	if *report == "" {
		t.Skip("no report was asked for: see the targets of the Makefile that end in report")
	}
	texts := map[string]func(context.Context) error{"normalise": reportNormalisation, "nemo": reportNemo}
	if text, ok := texts[*report]; ok { // it needs no engine
		require.NoError(t, text(t.Context()))
		return
	}
	first, second := open(t, "engine"), open(t, "flite")
	engines := &tools{first: first, second: second}
	if *packages != "" {
		engines.bases, engines.installed = openBases(t, first.SampleRate())
	}
	reports := map[string]func(context.Context) error{
		"align": engines.reportAlignment, "clone": engines.reportClones, "precheck": engines.reportPrecheck,
		"loudness": engines.reportLoudness, "calibrate": engines.writeGains,
	}
	require.Contains(t, reports, *report)
	require.NoError(t, reports[*report](t.Context()))
}

// tools are the engines and data of the reports.
type tools struct {
	first, second speech.Engine
	installed     speech.InstalledEngines
	bases         []speech.Voice // running installed voices that can be cloned
}

func open(t *testing.T, mode string) *worker.Pool {
	pool, err := worker.Open(worker.Config{Command: workers.Command{Path: speechworker, Args: []string{mode}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return pool
}

// newTable returns a table of right-aligned columns.
func newTable() *tabwriter.Writer {
	return tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
}

//go:embed texts
var textFiles embed.FS

// linesOf returns the lines of a file of texts.
func linesOf(name string) []string {
	content, err := textFiles.ReadFile("texts/" + name)
	if err != nil {
		panic(err) // the file is embedded
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

// textsOf returns the texts of a file by language.
func textsOf(name string) map[string]string {
	texts := map[string]string{}
	for _, line := range linesOf(name) {
		language, text, _ := strings.Cut(line, "\t")
		texts[language] = text
	}
	return texts
}

// speak returns the samples of a whole text.
func speak(ctx context.Context, speaker *speech.Speaker, request speech.Request) (pcm []byte, err error) {
	stream := speaker.Speak(ctx, request)
	defer stream.Close()
	for {
		piece, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			return pcm, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", request.Voice.ID, request.Language, err)
		}
		pcm = append(pcm, piece.PCM...)
	}
}

// convert returns an input converted by ffmpeg to a rate in Hz.
func convert(ctx context.Context, rate int, input ...string) ([]int16, error) {
	arguments := append([]string{"-v", "error", "-nostdin"}, input...)
	arguments = append(arguments, "-f", "s16le", "-ar", fmt.Sprint(rate), "-ac", "1", "-")
	pcm, err := exec.CommandContext(ctx, "ffmpeg", arguments...).Output()
	if err != nil {
		return nil, fmt.Errorf("running ffmpeg: %w", err)
	}
	return audio.AppendSamples(nil, pcm), nil
}

// quantile returns a quantile of sorted values.
func quantile(sorted []float64, part float64) float64 {
	return sorted[int(part*float64(len(sorted)-1))]
}
