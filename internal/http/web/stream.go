package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// streamBody lets fasthttp's connection goroutine run the writer itself: WriteTo is given a writer that frames and
// flushes each piece. So a Write returns only when its piece has been handed to the connection, the writer never
// outlives its connection, and no piece waits in a pipe. An error of WriteTo cuts the connection; fasthttp's own
// SetBodyStreamWriter would end the body cleanly then, and would let a panic end the process.
type streamBody struct {
	life    *lifetime
	write   StreamWriter
	limit   time.Duration
	written atomic.Int64
	result  error
	once    sync.Once
	done    func(bytes int64, err error)
}

// SupportsBodyWriteTo makes fasthttp use WriteTo.
func (b *streamBody) SupportsBodyWriteTo() bool { return true }

// Read is never used, because WriteTo is.
func (b *streamBody) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// WriteTo runs the writer.
func (b *streamBody) WriteTo(w io.Writer) (int64, error) {
	b.life.extend(b.limit)
	out := &chunkWriter{ctx: b.life, to: w, written: &b.written}
	b.result = b.run(out)
	out.ended.Store(true)
	return b.written.Load(), b.result
}

func (b *streamBody) run(out io.Writer) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = panicError(cause)
		}
	}()
	if err := b.write(b.life, out); err != nil {
		return fmt.Errorf("writing the stream: %w", b.life.why(err))
	}
	if b.life.Err() != nil {
		// The writer had to stop: whether it had written everything is unknown.
		return fmt.Errorf("writing the stream: %w", context.Cause(b.life))
	}
	return nil
}

// Close is called by fasthttp when the response is over, whether WriteTo ran or not.
func (b *streamBody) Close() error {
	b.once.Do(func() { b.done(b.written.Load(), b.result) })
	return nil
}

// chunkWriter writes to the connection as long as the stream lives.
type chunkWriter struct {
	ctx     context.Context
	to      io.Writer
	written *atomic.Int64
	ended   atomic.Bool
}

func (w *chunkWriter) Write(p []byte) (int, error) {
	if w.ended.Load() {
		return 0, fmt.Errorf("writing to the stream: %w", io.ErrClosedPipe)
	}
	if err := w.ctx.Err(); err != nil {
		return 0, fmt.Errorf("writing to the stream: %w", context.Cause(w.ctx))
	}
	n, err := w.to.Write(p)
	w.written.Add(int64(n))
	if err != nil {
		return n, fmt.Errorf("writing to the stream: %w: %w", errClientGone, err)
	}
	return n, nil
}
