// Neuralworker is the process in which recitald runs neural voices that share a model. It exchanges frames over
// standard input and output and exits at the end of its input. It loads ONNX Runtime, and asks a speechworker for
// phonemes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/recital-tts/recital/internal/process/confine"
	"github.com/recital-tts/recital/internal/process/release"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/engineproto"
	"github.com/recital-tts/recital/internal/speech/neural"
	"github.com/recital-tts/recital/internal/speech/neural/ort"
	"github.com/recital-tts/recital/internal/speech/neural/silero"
	"github.com/recital-tts/recital/internal/speech/voicepack"
)

const usage = `usage: neuralworker --runtime LIBRARY --phonemes SPEECHWORKER FOLDER
       neuralworker --runtime LIBRARY --activity MODEL
       neuralworker --version

recitald starts it; frames go over standard input and output. FOLDER has a voice: voice.onnx, voice.onnx.json
and, if its model speaks with several styles, voice.styles.bin. Jobs may name a folder beside it, of a voice with
the same model. With MODEL, Silero's, it hears how much of a recording is speech.

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
	activity := flags.String("activity", "", "the path of Silero's model of voice activity")
	version := flags.Bool("version", false, "print the version")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *version {
		fmt.Println("neuralworker", release.Build())
		return 0
	}
	job := func() error { return serve(*library, flags.Arg(0), *speechworker) }
	switch {
	case *library != "" && *activity != "" && flags.NArg() == 0:
		job = func() error { return listen(*library, *activity) }
	case *library == "" || *speechworker == "" || flags.NArg() != 1:
		flags.Usage()
		return 2
	}
	if err := job(); err != nil {
		fmt.Fprintf(os.Stderr, "neuralworker: %v\n", err)
		return 1
	}
	return 0
}

// mostMemory bounds the memory of the process, as a multiple of a loaded voice's: loading needs several copies of the
// model.
const mostMemory = 6

// load loads the model of a folder, and returns the memory that only loading took to the system.
func load(library, folder string) (*neural.Voices, error) {
	memory, err := voicepack.Voice{Folder: folder}.Memory()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(confine.Memory(mostMemory*uint64(memory)), ort.Open(library)); err != nil {
		return nil, err
	}
	voices, err := neural.Load(folder)
	debug.FreeOSMemory()
	return voices, err
}

// serve answers jobs. A voice that cannot be loaded is refused, with the reason, in place of a hello.
func serve(library, folder, speechworker string) error {
	voices, err := load(library, folder)
	if err != nil {
		return errors.Join(err, workers.NewWriter(os.Stdout).Write(engineproto.Refusal(err)))
	}
	return neural.Serve(os.Stdin, os.Stdout, voices, workers.Command{Path: speechworker, Args: []string{"phonemes"}})
}

// listenerMemory bounds the memory of a process that hears a recording, in bytes. It takes a tenth.
const listenerMemory = 512 << 20

// listen hears one recording.
func listen(library, model string) error {
	if err := errors.Join(confine.Memory(listenerMemory), ort.Open(library)); err != nil {
		return err
	}
	return silero.Serve(os.Stdin, os.Stdout, model)
}
