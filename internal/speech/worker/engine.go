package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/engineproto"
)

// engine is a running process that has sent its hello.
type engine struct {
	process    *workers.Process
	sampleRate int
	frames     chan workers.Frame // closed when the process has ended
	reading    sync.WaitGroup
}

// startEngine starts a process and waits for its hello.
func (p *Pool) startEngine(ctx context.Context) (*engine, error) {
	patience := p.config.HelloTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the process did not say hello within %s", patience))
	defer cancel()
	process, rate, err := engineproto.Start(ctx, *p.command.Load())
	if err != nil {
		return nil, err
	}
	e := &engine{process: process, sampleRate: rate, frames: make(chan workers.Frame, 16)}
	e.reading.Go(e.read)
	return e, nil
}

func (e *engine) read() {
	defer close(e.frames)
	for {
		frame, err := e.process.Out.Read()
		if err != nil {
			e.process.Kill() // it may still run with its output closed or invalid
			<-e.process.Done()
			return
		}
		e.frames <- frame
	}
}

// stop closes the process's input and kills it if it does not exit.
func (e *engine) stop() {
	e.process.CloseInput()
	timeout := time.AfterFunc(exitTimeout, e.process.Kill)
	defer timeout.Stop()
	e.awaitEnd()
}

// kill kills the process and waits for its end.
func (e *engine) kill() {
	e.process.Kill()
	e.awaitEnd()
}

func (e *engine) awaitEnd() {
	for range e.frames { // so that read is not blocked
	}
	e.reading.Wait()
}
