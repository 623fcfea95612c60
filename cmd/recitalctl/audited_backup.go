package main

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/backup"
	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// savedLog is the log in a backup.
type savedLog struct {
	*backup.Folder
	manifest backup.Manifest
}

func openSaved(dir string) (savedLog, error) {
	folder, m, err := backup.OpenToRead(dir)
	return savedLog{folder, m}, err
}

func (l savedLog) id(context.Context) (string, error) { return l.manifest.LogID.String(), nil }

// keys returns the keys of all heads, since a key may have been replaced.
func (l savedLog) keys(ctx context.Context) (keys []string, err error) {
	for head, err := range l.heads(ctx, 0) {
		if err != nil {
			return nil, err
		}
		if head.Signed() && !slices.Contains(keys, head.Key) {
			keys = append(keys, head.Key)
		}
	}
	return keys, nil
}

func (l savedLog) heads(ctx context.Context, from uint64) iter.Seq2[chain.LoggedHead, error] {
	return func(yield func(chain.LoggedHead, error) bool) {
		events, _ := l.events(ctx, eventlog.Start())
		for event, err := range events {
			if err == nil && (event.Stream != audit.HeadStream || event.Revision < from) {
				continue
			}
			if !yield(chain.LoggedHeadOf(event), err) || err != nil {
				return
			}
		}
	}
}

func (l savedLog) events(ctx context.Context, after eventlog.Position) (
	iter.Seq2[eventlog.Recorded, error], func() eventlog.Position,
) {
	var last eventlog.Position
	return func(yield func(eventlog.Recorded, error) bool) {
		for event, err := range l.Events(l.manifest) {
			err = errors.Join(err, ctx.Err())
			last = event.Position
			if err == nil && last.Compare(after) <= 0 {
				continue
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}, func() eventlog.Position { return last }
}
