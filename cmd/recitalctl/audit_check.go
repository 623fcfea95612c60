package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logdiff"
)

// check is a check that has begun.
type check struct {
	verifier *chain.Verifier
	against  *against // nil without --against
	state    string   // file; "" for none
	kept     kept     // what it had
	keys     []string
	signer   signer
	from     eventlog.Position
}

// kept is the content of a state file.
type kept struct {
	chain.Checkpoint
	Against *logdiff.Checkpoint `json:"against,omitempty"`
}

// signer is the source of the public key of the heads.
type signer string

const (
	signerGiven       signer = "given"       // by the auditor
	signerExported    signer = "exported"    // by heads that the auditor has kept
	signerRecitald    signer = "recitald"    // by a running recitald
	signerUnconfirmed signer = "unconfirmed" // by nothing but the log itself
)

// errNoHeads means that a log names no key, because it has no heads.
var errNoHeads = errors.New("the log holds no heads, so nothing can be proved by it alone")

func (c *auditVerify) begin(ctx context.Context, log audited) (_ *check, err error) {
	begun := &check{state: c.State}
	defer func() {
		if err != nil {
			err = errors.Join(err, begun.close())
		}
	}()
	id, err := log.id(ctx)
	if err == nil {
		begun.keys, begun.signer, err = c.keys(ctx, log)
	}
	if err != nil {
		return nil, err
	}
	if len(begun.keys) == 0 && c.Against == "" {
		return nil, errNoHeads
	}
	config := chain.Config{
		Log: id, Keys: begun.keys,
		Heads: func(from uint64) iter.Seq2[chain.LoggedHead, error] { return log.heads(ctx, from) },
	}
	if config.Exported, err = c.exported(); err != nil {
		return nil, err
	}
	if config.From, err = begun.resume(); err != nil {
		return nil, err
	}
	if config.From != nil {
		begun.from = config.From.Report.Position
	}
	if c.Against != "" {
		if begun.against, err = compareWith(ctx, c.Against, id, begun.kept.Against); err != nil {
			return nil, err
		}
	}
	begun.verifier, err = chain.NewVerifier(config)
	if err != nil {
		return nil, fmt.Errorf("beginning the check: %w", err)
	}
	return begun, nil
}

// keys returns the keys that heads may be signed with, in the order in which they are believed.
func (c *auditVerify) keys(ctx context.Context, log audited) (keys []string, from signer, err error) {
	switch keys, from = c.PublicKey, signerGiven; {
	case len(keys) > 0:
	case c.Backup == "":
		from = signerRecitald
		keys, err = log.keys(ctx)
	case c.Heads != "":
		from = signerExported
		keys, err = c.exportedKeys()
	default:
		from = signerUnconfirmed
		keys, err = log.keys(ctx)
	}
	for i, key := range keys {
		keys[i] = strings.ToLower(strings.TrimSpace(key))
		if decoded, err := hex.DecodeString(keys[i]); err != nil || len(decoded) != 32 {
			return nil, from, fail(exitUsage, "a public key has 64 hex digits, as recitalctl audit heads shows them")
		}
	}
	return keys, from, err
}

// exportedKeys returns those that have signed the heads of the file.
func (c *auditVerify) exportedKeys() (keys []string, err error) {
	heads, err := c.exported()
	if err != nil {
		return nil, err
	}
	for head, err := range heads {
		if err != nil {
			return nil, err
		}
		if head.Signed() && !slices.Contains(keys, head.Key) {
			keys = append(keys, head.Key)
		}
	}
	return keys, nil
}

func (c *check) close() (err error) {
	if c.verifier != nil {
		err = c.verifier.Close()
	}
	if c.against != nil {
		err = errors.Join(err, c.against.close())
	}
	return err
}

// exported yields the heads of the file, which is closed with the process.
func (c *auditVerify) exported() (iter.Seq2[audit.Head, error], error) {
	if c.Heads == "" {
		return nil, nil
	}
	file, err := os.Open(c.Heads)
	if err != nil {
		return nil, fmt.Errorf("opening the file of heads: %w", err)
	}
	return readHeads(file), nil
}

func (c *check) resume() (*chain.Checkpoint, error) {
	if c.state == "" {
		return nil, nil
	}
	content, err := os.ReadFile(c.state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	if err := json.Unmarshal(content, &c.kept); err != nil {
		return nil, fail(exitFailed, "%s is no state of a check; remove it to begin anew", c.state)
	}
	return &c.kept.Checkpoint, nil
}

// keep writes the state in one step.
func (c *check) keep() error {
	if c.state == "" {
		return nil
	}
	c.kept.Checkpoint = c.verifier.Checkpoint()
	if c.against != nil {
		at := c.against.Checkpoint()
		c.kept.Against = &at
	}
	content, err := json.Marshal(c.kept)
	if err != nil {
		return err
	}
	next, err := os.CreateTemp(filepath.Dir(c.state), ".verify-*") // 0600
	if err != nil {
		return fmt.Errorf("keeping the state: %w", err)
	}
	_, err = next.Write(content)
	if err := errors.Join(err, next.Sync(), next.Close()); err != nil {
		return errors.Join(fmt.Errorf("keeping the state: %w", err), os.Remove(next.Name()))
	}
	return os.Rename(next.Name(), c.state)
}

// keepEvery is how often the state is written.
const keepEvery = 5 * time.Second

func (c *check) run(ctx context.Context, log audited, to terminal) (outcome, error) {
	events, until := log.events(ctx, c.begins())
	kept, progress := time.Now(), newStage(to)
	progress.details = c.progress()
	progress.begin("checking the log", 0)
	defer progress.close()
	for event, err := range events {
		if err == nil {
			err = c.add(event)
		}
		if err != nil {
			return outcome{}, errors.Join(err, c.keep())
		}
		if time.Since(kept) > keepEvery {
			kept = time.Now()
			if err := c.keep(); err != nil {
				return outcome{}, err
			}
		}
		progress.add(1)
	}
	// The state is kept before the end, so that the next check expects heads of events that were not read yet.
	if err := c.keep(); err != nil {
		return outcome{}, err
	}
	return c.end(until())
}

// begins returns after which position the log is read.
func (c *check) begins() eventlog.Position {
	if c.against != nil && c.against.After().Compare(c.from) < 0 {
		return c.against.After()
	}
	return c.from
}

func (c *check) add(event eventlog.Recorded) error {
	if c.against != nil {
		if err := c.against.Add(event); err != nil {
			return fmt.Errorf("comparing with the backup: %w", err)
		}
	}
	if event.Position.Compare(c.from) <= 0 {
		return nil
	}
	return c.verifier.Add(event)
}

func (c *check) end(until eventlog.Position) (found outcome, err error) {
	found = outcome{Signer: c.signer, Keys: c.keys}
	if found.Report, err = c.verifier.End(until); err != nil {
		return found, err
	}
	found.Intact = found.Report.Intact()
	if c.against != nil {
		differences, err := c.against.End()
		if err != nil {
			return found, fmt.Errorf("comparing with the backup: %w", err)
		}
		found.Against, found.Intact = &differences, found.Intact && differences.Same()
	}
	return found, nil
}

// progress returns a function that describes the progress of the check.
func (c *check) progress() func() string {
	begun, first := time.Now(), c.verifier.Progress().Events
	return func() string {
		report := c.verifier.Progress()
		return fmt.Sprintf("%d events, %d heads fit, %d findings, %.0f events a second", report.Events,
			report.Heads+report.Exported,
			len(report.Findings), float64(report.Events-first)/time.Since(begun).Seconds())
	}
}
