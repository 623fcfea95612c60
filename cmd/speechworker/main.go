// Speechworker is the process in which recitald runs the code that links C libraries: the speech engines and the
// codecs. It exchanges frames over standard input and output and exits at the end of its input. It links GPL
// libraries, so the binary is under the GPL; recitald only communicates with it.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/recital-tts/recital/internal/process/release"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/audio/libav"
	"github.com/recital-tts/recital/internal/speech/espeak"
	"github.com/recital-tts/recital/internal/speech/flite"
)

type mode struct {
	name  string
	help  string
	serve func(in io.Reader, out *os.File) error
}

func modes() []mode {
	return []mode{
		{"engine", "synthesise speech with espeak-ng", espeak.Serve},
		{"phonemes", "transcribe text with espeak-ng, for voices that speak phonemes", espeak.Transcribe},
		{"flite", "synthesise American English with flite", flite.Serve},
		{"codec", "encode audio with libav", serveCodec},
		{"decode", "decode one upload with libav, confined", serveDecode},
	}
}

func serveCodec(in io.Reader, out *os.File) error { return libav.Serve(in, out) }

func serveDecode(in io.Reader, out *os.File) error { return libav.ServeDecode(in, out) }

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) != 1 {
		usage(os.Stderr)
		return 2
	}
	if args[0] == "--help" || args[0] == "-h" || args[0] == "help" {
		usage(os.Stdout)
		return 0
	}
	if args[0] == "--version" {
		fmt.Println("speechworker", release.Build())
		return 0
	}
	for _, m := range modes() {
		if m.name == args[0] {
			return serve(m)
		}
	}
	fmt.Fprintf(os.Stderr, "speechworker: unknown mode %q\n", args[0])
	usage(os.Stderr)
	return 2
}

func serve(m mode) int {
	if err := m.serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "speechworker %s: %v\n", m.name, err)
		if errors.Is(err, libav.ErrNotLoaded) {
			return workers.NotLoaded
		}
		return 1
	}
	return 0
}

func usage(out io.Writer) {
	fmt.Fprintln(out, "usage: speechworker MODE | --version\n\nrecitald starts it; frames go over standard "+
		"input and output.\n\nModes:")
	for _, m := range modes() {
		fmt.Fprintf(out, "  %-8s %s\n", m.name, m.help)
	}
}
