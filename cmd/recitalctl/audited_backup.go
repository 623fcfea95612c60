package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/chain"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/logcopy"
)

// savedLog is the log in the folder of a backup.
type savedLog struct{ dir string }

// parts returns the files of the log in their order.
func (l savedLog) parts() ([]string, error) {
	parts, err := filepath.Glob(filepath.Join(l.dir, "log", "*.zst"))
	if err == nil && len(parts) == 0 {
		err = fail(exitFailed, "%s holds no backup", l.dir)
	}
	slices.Sort(parts)
	return parts, err
}

// identity returns the key of the first head, which is what the backup says of itself.
func (l savedLog) identity(ctx context.Context) (log, key string, err error) {
	parts, err := l.parts()
	if err != nil {
		return "", "", err
	}
	err = readPart(parts[0], func(reader *logcopy.Reader) error {
		log = reader.Header().Identity.LogID.String()
		return nil
	})
	if err != nil {
		return "", "", err
	}
	for head, err := range l.heads(ctx, 0) {
		return log, head.Key, err
	}
	return "", "", fail(exitFailed, "the backup holds no heads, so nothing can be proved by it alone")
}

func (l savedLog) heads(ctx context.Context, from uint64) iter.Seq2[chain.LoggedHead, error] {
	return func(yield func(chain.LoggedHead, error) bool) {
		events, _ := l.events(ctx, eventlog.Start())
		for event, err := range events {
			if err == nil && (event.Stream != audit.HeadStream || event.Revision < from) {
				continue
			}
			if !yield(chain.LoggedHeadOf(event), err) {
				return
			}
		}
	}
}

func (l savedLog) events(ctx context.Context, after eventlog.Position) (iter.Seq2[eventlog.Recorded, error], func() eventlog.Position) {
	var last eventlog.Position
	return func(yield func(eventlog.Recorded, error) bool) {
		parts, err := l.parts()
		if err != nil {
			yield(eventlog.Recorded{}, err)
			return
		}
		for _, part := range parts {
			err := readPart(part, func(reader *logcopy.Reader) error {
				for event, err := range reader.Events() {
					if err := errors.Join(err, ctx.Err()); err != nil {
						return err
					}
					last = event.Position
					if event.Position.Compare(after) > 0 && !yield(event, nil) {
						return errEnough
					}
				}
				return nil
			})
			if errors.Is(err, errEnough) {
				return
			}
			if err != nil {
				yield(eventlog.Recorded{}, fmt.Errorf("%s: %w", part, err))
				return
			}
		}
	}, func() eventlog.Position { return last }
}

// errEnough means that no more events are wanted.
var errEnough = errors.New("no more is wanted")

func readPart(path string, read func(*logcopy.Reader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	unpacked, err := zstd.NewReader(io.Reader(file), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked))
	if err != nil {
		return err
	}
	defer unpacked.Close()
	reader, err := logcopy.NewReader(unpacked)
	if err != nil {
		return err
	}
	return read(reader)
}

// maxUnpacked bounds the window of a part, whose sender need not be ours.
const maxUnpacked = 64 << 20
