// Japanesereader is the process in which recitald has Japanese text read: its dictionary takes about 100 MB of memory.
// It exchanges frames over standard input and output and exits at the end of its input. It embeds a dictionary under a
// licence of its own (see NOTICE).
package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/recital-tts/recital/internal/process/confine"
	"github.com/recital-tts/recital/internal/process/release"
	"github.com/recital-tts/recital/internal/speech/japanese"
	"github.com/recital-tts/recital/internal/speech/japanese/ipadic"
	"github.com/recital-tts/recital/internal/speech/japanese/reader"
)

// The dictionary is most of the heap and lives as long as the process, so garbage is collected when there is a fifth as
// much of it.
const garbagePercent = 20

// limits returns limits far above the need, which is 150 MB of memory and 5 s of processor time for a million
// characters. A process that exceeds its time is replaced.
func limits() confine.Limits { return confine.Limits{Memory: 512 << 20, CPUSeconds: 3600} }

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("japanesereader", release.Build())
		return
	}
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "usage: japanesereader [--version]\n\nrecitald starts it with the first Japanese text; "+
			"frames go over standard input and output.")
		os.Exit(2)
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "japanesereader:", err)
		os.Exit(1)
	}
}

// serve loads the dictionary, confines the process and then reads texts.
func serve(in io.Reader, out io.Writer) error {
	analyser, err := ipadic.Open()
	if err != nil {
		return err
	}
	debug.SetGCPercent(garbagePercent)
	debug.FreeOSMemory()
	if err := confine.Process(limits()); err != nil {
		return err
	}
	return reader.Serve(in, out, func(text string) []japanese.Reading {
		return japanese.Read(text, analyser.Morphemes)
	})
}
