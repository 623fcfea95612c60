package codec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/audio/codec/protocol"
)

// closeGrace is the time for a process to exit after the end of its input.
const closeGrace = 2 * time.Second

var errNoRequest = errors.New("the codec process sent an unexpected reply")

// process is a codec process with its streams.
type process struct {
	worker  *workers.Process
	timeout time.Duration
	// requests has room for all requests, so that a process that reads slowly delays no stream. A stream has at most one
	// request and one Close in it.
	requests chan workers.Frame
	ended    chan struct{} // closed when the process has exited and its streams have failed
	running  sync.WaitGroup

	mu      sync.Mutex
	streams map[uint32]*stream
	lastID  uint32
	err     error // why the process ended or will end; nil while it runs
}

// startProcess starts a process and tests it, which also initialises its tables before the first client.
func startProcess(config Config) (*process, error) {
	worker, err := workers.Start(config.Command)
	if err != nil {
		return nil, err
	}
	p := &process{
		worker: worker, timeout: config.Timeout, requests: make(chan workers.Frame, 2*protocol.MaxStreams),
		ended: make(chan struct{}), streams: make(map[uint32]*stream),
	}
	p.running.Go(p.send)
	p.running.Go(p.receive)
	if err := p.prove(); err != nil {
		p.close()
		return nil, fmt.Errorf("%w (exit: %v)", err, worker.Err())
	}
	return p, nil
}

// prove encodes 100 ms of silence in each format.
func (p *process) prove() error {
	const rate = 24000
	silence := make([]byte, 2*rate/10)
	for _, format := range protocol.Codecs() {
		ctx := context.Background() // every request has the process's own timeout
		st, err := p.open(ctx, protocol.Opening{Format: format, SampleRate: rate, InputRate: rate})
		if err != nil {
			return fmt.Errorf("trying %s: %w", format, err)
		}
		_, encodeErr := st.Encode(ctx, silence)
		_, finishErr := st.Finish(ctx)
		st.Close()
		if err := errors.Join(encodeErr, finishErr); err != nil {
			return fmt.Errorf("trying %s: %w", format, err)
		}
	}
	return nil
}

func (p *process) open(ctx context.Context, opening protocol.Opening) (*stream, error) {
	payload, err := json.Marshal(opening)
	if err != nil {
		return nil, err
	}
	st, err := p.newStream()
	if err != nil {
		return nil, err
	}
	if _, err := st.call(ctx, protocol.Open, payload); err != nil {
		st.Close()
		return nil, err
	}
	return st, nil
}

func (p *process) newStream() (*stream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, p.err
	}
	if len(p.streams) >= protocol.MaxStreams {
		return nil, ErrBusy
	}
	p.lastID++
	for p.streams[p.lastID] != nil {
		p.lastID++ // ids wrap around after four billion streams
	}
	st := &stream{
		process: p, id: p.lastID, replies: make(chan workers.Frame, 1), watchdog: time.AfterFunc(p.timeout, p.stalled),
	}
	p.streams[st.id] = st
	return st, nil
}

// load returns the number of streams, and whether the process is running.
func (p *process) load() (streams int, alive bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.streams), p.err == nil
}

// request queues a request, unless the process has exited.
func (p *process) request(frame workers.Frame) {
	select {
	case p.requests <- frame:
	case <-p.ended:
	}
}

// send writes requests until the process has exited.
func (p *process) send() {
	for {
		select {
		case frame := <-p.requests:
			if err := p.worker.In.Write(frame); err != nil {
				p.abandon(fmt.Errorf("asking the codec process: %w", err))
				return
			}
		case <-p.ended:
			return
		}
	}
}

// receive distributes replies until the process has exited.
func (p *process) receive() {
	for {
		frame, err := p.worker.Out.Read()
		if err == nil {
			err = p.deliver(frame)
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // io.EOF would look like the regular end of a stream
		}
		if err != nil {
			p.abandon(fmt.Errorf("reading from the codec process: %w", err))
			break
		}
	}
	<-p.worker.Done()
	p.loseStreams()
	close(p.ended)
}

func (p *process) deliver(reply workers.Frame) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := p.streams[reply.Stream]
	switch {
	case st == nil:
		return errNoRequest
	case reply.Kind == protocol.Closed && st.closed:
		st.watchdog.Stop()
		delete(p.streams, st.id)
		return nil
	case reply.Kind == protocol.Closed || !st.asks:
		return errNoRequest
	}
	if st.asks = false; !st.closed {
		st.watchdog.Stop()
	}
	st.replies <- reply // never blocks: it has room for the reply to the only request in flight
	return nil
}

// abandon kills the process. Its streams fail with the first reason.
func (p *process) abandon(reason error) {
	p.mu.Lock()
	if p.err == nil {
		p.err = fmt.Errorf("%w: %w", ErrCodecFailed, reason)
	}
	p.mu.Unlock()
	p.worker.Kill()
}

func (p *process) stalled() {
	p.abandon(fmt.Errorf("the codec process did not answer within %s", p.timeout))
}

func (p *process) loseStreams() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, st := range p.streams {
		st.watchdog.Stop()
	}
	clear(p.streams)
}

// close ends the process's input, kills it if it does not exit, and waits for it. p may be nil.
func (p *process) close() {
	if p == nil {
		return
	}
	p.worker.CloseInput()
	select {
	case <-p.ended:
	case <-time.After(closeGrace):
		p.abandon(io.ErrClosedPipe)
	}
	p.running.Wait()
}

func (p *process) cause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
