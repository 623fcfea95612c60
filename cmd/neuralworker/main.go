// Neuralworker is the process in which recitald runs a neural voice. It exchanges frames over standard input and
// output and exits at the end of its input. It loads ONNX Runtime, and asks a speechworker for phonemes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/recital-tts/recital/internal/process/confine"
	"github.com/recital-tts/recital/internal/process/release"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/neural"
	"github.com/recital-tts/recital/internal/speech/neural/ort"
)

const usage = `usage: neuralworker --runtime LIBRARY --phonemes SPEECHWORKER --voice ID --languages CODES FOLDER
       neuralworker --version

recitald starts it; frames go over standard input and output. FOLDER has a voice: voice.onnx, voice.onnx.json
and, if its model speaks with several styles, voice.styles.bin.

`

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	flags := flag.NewFlagSet("neuralworker", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	library := flags.String("runtime", "", "the shared library of ONNX Runtime, an absolute path")
	speechworker := flags.String("phonemes", "", "the path of the speechworker binary")
	id := flags.String("voice", "", "the name by which jobs call the voice")
	languages := flags.String("languages", "", "what the voice speaks, as espeak-ng calls it, separated by commas")
	version := flags.Bool("version", false, "print the version")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *version {
		fmt.Println("neuralworker", release.Build())
		return 0
	}
	if flags.NArg() != 1 || *library == "" || *speechworker == "" || *id == "" || *languages == "" {
		flags.Usage()
		return 2
	}
	load := func() (*neural.Voice, error) {
		voice, err := loadVoice(*library, flags.Arg(0))
		if err != nil {
			return nil, err
		}
		voice.ID, voice.Languages = *id, strings.Split(*languages, ",")
		return voice, nil
	}
	if err := serve(load, *speechworker); err != nil {
		fmt.Fprintf(os.Stderr, "neuralworker: %v\n", err)
		return 1
	}
	return 0
}

// loadVoice loads a voice. What it takes to load it is given back to the system.
func loadVoice(library, folder string) (*neural.Voice, error) {
	files := os.DirFS(folder)
	memory, err := neural.Memory(files)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(confine.Memory(memory), ort.Open(library)); err != nil {
		return nil, err
	}
	voice, err := neural.Load(files)
	debug.FreeOSMemory()
	return voice, err
}

// serve answers jobs. A voice that cannot be loaded is refused, with the reason, in place of a hello.
func serve(load func() (*neural.Voice, error), speechworker string) error {
	voice, err := load()
	if err != nil {
		return errors.Join(err, neural.Refuse(os.Stdout, err))
	}
	return neural.Serve(os.Stdin, os.Stdout, voice, workers.Command{Path: speechworker, Args: []string{"phonemes"}})
}
