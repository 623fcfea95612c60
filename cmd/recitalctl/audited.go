package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strconv"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
)

// audited is a log to check: the log of a running recitald, or the one in a backup.
type audited interface {
	io.Closer
	id(ctx context.Context) (string, error)
	// keys returns the public keys that the log names itself, in hex.
	keys(ctx context.Context) ([]string, error)
	// heads yields the heads in the log, from a revision of their stream on.
	heads(ctx context.Context, from uint64) iter.Seq2[chain.LoggedHead, error]
	// events yields the events after a position. When all were yielded, until returns the position that was reached.
	events(ctx context.Context, after eventlog.Position) (
		events iter.Seq2[eventlog.Recorded, error], until func() eventlog.Position,
	)
}

// liveLog is the log of a running recitald.
type liveLog struct{ *client }

// chainKey is the admin API's description of the key that signs heads.
type chainKey struct {
	Log string `json:"log"`
	Key string `json:"key"`
}

// Close implements io.Closer.
func (liveLog) Close() error { return nil }

func (l liveLog) key(ctx context.Context) (key chainKey, err error) {
	return key, l.get(ctx, "reading whose log it is", "/admin/audit/key", &key)
}

func (l liveLog) id(ctx context.Context) (string, error) {
	key, err := l.key(ctx)
	return key.Log, err
}

func (l liveLog) keys(ctx context.Context) ([]string, error) {
	key, err := l.key(ctx)
	return []string{key.Key}, err
}

// headsPage is the admin API's description of some heads.
type headsPage struct {
	Heads []struct {
		Revision uint64     `json:"revision"`
		Position string     `json:"position"`
		Head     audit.Head `json:"head"`
	} `json:"heads"`
	Next *json.Number `json:"next"`
}

func (p headsPage) size() int     { return len(p.Heads) }
func (p headsPage) next() *string { return (*string)(p.Next) }

func (l liveLog) heads(ctx context.Context, from uint64) iter.Seq2[chain.LoggedHead, error] {
	return func(yield func(chain.LoggedHead, error) bool) {
		first := url.Values{"from": {strconv.FormatUint(from, 10)}}
		list := listing{doing: "reading the heads", path: "/admin/audit/heads", query: first, token: "from"}
		for page, err := range pages[headsPage](ctx, l.client, list) {
			if err != nil {
				yield(chain.LoggedHead{}, err)
				return
			}
			for _, one := range page.Heads {
				position, err := eventlog.ParsePosition(one.Position)
				head := chain.LoggedHead{Head: one.Head, Revision: one.Revision, Position: position}
				if !yield(head, err) || err != nil {
					return
				}
			}
		}
	}
}

func (l liveLog) events(ctx context.Context, after eventlog.Position) (
	iter.Seq2[eventlog.Recorded, error], func() eventlog.Position,
) {
	var until eventlog.Position
	return func(yield func(eventlog.Recorded, error) bool) {
		body, err := l.stream(ctx, "/admin/log?after="+after.String())
		if err != nil {
			yield(eventlog.Recorded{}, err)
			return
		}
		defer body.Close()
		reader, err := logcopy.NewReader(body)
		if err != nil {
			yield(eventlog.Recorded{}, fmt.Errorf("reading the log: %w", err))
			return
		}
		until = reader.Header().Until
		for event, err := range reader.Events() {
			if !yield(event, err) || err != nil {
				return
			}
		}
	}, func() eventlog.Position { return until }
}

// readHeads yields the heads of an exported file, which has one in each line.
func readHeads(from io.Reader) iter.Seq2[audit.Head, error] {
	return func(yield func(audit.Head, error) bool) {
		decoder := json.NewDecoder(from)
		for line := 1; ; line++ {
			var head audit.Head
			err := decoder.Decode(&head)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				err = fmt.Errorf("exported head %d cannot be read", line)
			}
			if !yield(head, err) || err != nil {
				return
			}
		}
	}
}
