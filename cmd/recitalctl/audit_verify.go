package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/chain"
	"github.com/recital-tts/recital/internal/eventlog"
)

type auditVerify struct {
	Backup    string   `placeholder:"DIR" help:"Check the log in a backup, instead of that of a running recitald."`
	Heads     string   `placeholder:"FILE" help:"Check against heads that were exported before, too: that is the only proof which a person with the key cannot forge."`
	PublicKey []string `placeholder:"HEX" help:"The public key that you know to be right, in hex; may be repeated where a key was replaced. Without it the log names the key itself, which proves less."`
	State     string   `placeholder:"FILE" help:"Keep in a file how far the check is. The next one with the same file reads what is new; what was checked before is not checked again."`
	Format    format   `default:"table" enum:"table,json" help:"Form of the result: table or json."`
}

// Help is shown below the flags.
func (*auditVerify) Help() string {
	return `Reads the whole log and computes its chain of hashes again. If it is not what the signed heads say, it says where, and the exit
code is 1. Nothing is proved of the events after the last head, nor of what happened before they were signed.

Examples:
  recitalctl audit verify
  recitalctl audit verify --heads heads.jsonl --public-key $KEY
  recitalctl audit verify --backup /var/backups/recital --heads heads.jsonl
  recitalctl audit verify --state verified.json          goes on where it was interrupted, or ended the last time`
}

// Run checks the log.
func (c *auditVerify) Run(ctx context.Context, s settings, to terminal) error {
	log, err := c.log(s)
	if err != nil {
		return err
	}
	defer log.Close()
	check, report, err := c.check(ctx, log, to)
	if err != nil {
		return err
	}
	if err := c.print(to, check, report); err != nil {
		return err
	}
	if !report.Intact() {
		return fail(exitFailed, "%s", verdict(report))
	}
	return nil
}

func (c *auditVerify) check(ctx context.Context, log audited, to terminal) (*check, chain.Report, error) {
	begun, err := c.begin(ctx, log)
	if err != nil {
		return nil, chain.Report{}, err
	}
	defer begun.verifier.Close()
	report, err := begun.run(ctx, log, to)
	if err != nil {
		return nil, chain.Report{}, fmt.Errorf("checking the log: %w", err)
	}
	return begun, report, nil
}

func (c *auditVerify) log(s settings) (audited, error) {
	if c.Backup != "" {
		return openSaved(c.Backup)
	}
	admin, err := newClient(s.asAuditor())
	return liveLog{admin}, err
}

// check is a check that has begun.
type check struct {
	verifier *chain.Verifier
	state    string // file; "" for none
	keys     []string
	named    bool // the keys are those that the log names itself
	from     eventlog.Position
}

// errNoHeads means that a log names no key, because it has no heads.
var errNoHeads = errors.New("the log holds no heads, so nothing can be proved by it alone")

func (c *auditVerify) begin(ctx context.Context, log audited) (*check, error) {
	id, err := log.id(ctx)
	begun := &check{state: c.State, keys: c.PublicKey, named: len(c.PublicKey) == 0}
	if err == nil && begun.named {
		begun.keys, err = log.keys(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("reading whose log it is: %w", err)
	}
	if len(begun.keys) == 0 {
		return nil, errNoHeads
	}
	for i, key := range begun.keys {
		begun.keys[i] = strings.ToLower(strings.TrimSpace(key))
		if decoded, err := hex.DecodeString(begun.keys[i]); err != nil || len(decoded) != 32 {
			return nil, fail(exitUsage, "a public key has 64 hex digits, as recitalctl audit heads shows them")
		}
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
	begun.verifier, err = chain.NewVerifier(config)
	if err != nil {
		return nil, fmt.Errorf("beginning the check: %w", err)
	}
	return begun, nil
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
	var from chain.Checkpoint
	if err := json.Unmarshal(content, &from); err != nil {
		return nil, fail(exitFailed, "%s is no state of a check; remove it to begin anew", c.state)
	}
	return &from, nil
}

// keep writes the state in one step.
func (c *check) keep() error {
	if c.state == "" {
		return nil
	}
	content, err := json.Marshal(c.verifier.Checkpoint())
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

const (
	keepEvery = 5 * time.Second  // the state
	showEvery = 10 * time.Second // progress; on a terminal every second
)

func (c *check) run(ctx context.Context, log audited, to terminal) (chain.Report, error) {
	events, until := log.events(ctx, c.from)
	begun, kept, shown := time.Now(), time.Now(), time.Now()
	first := c.verifier.Progress().Events
	for event, err := range events {
		if err == nil {
			err = c.verifier.Add(event)
		}
		if err != nil {
			return chain.Report{}, errors.Join(err, c.keep())
		}
		if time.Since(kept) > keepEvery {
			kept = time.Now()
			if err := c.keep(); err != nil {
				return chain.Report{}, err
			}
		}
		if time.Since(shown) > showEvery || to.screen != nil && time.Since(shown) > time.Second {
			shown = time.Now()
			showProgress(to, c.verifier.Progress(), first, begun)
		}
	}
	if err := c.keep(); err != nil { // before the end, so that heads of events that were not read yet are awaited the next time
		return chain.Report{}, err
	}
	if to.screen != nil {
		fmt.Fprint(to.screen, "\r\x1b[K")
	}
	return c.verifier.End(until())
}

func showProgress(to terminal, report chain.Report, first uint64, begun time.Time) {
	line := fmt.Sprintf("%d events, %d heads fit, %d findings, %.0f events a second", report.Events, report.Heads+report.Exported, len(report.Findings),
		float64(report.Events-first)/time.Since(begun).Seconds())
	if to.screen != nil {
		fmt.Fprint(to.screen, "\r\x1b[K"+line)
		return
	}
	fmt.Fprintln(to.notes, line)
}

func (c *auditVerify) print(to terminal, check *check, report chain.Report) error {
	if c.Format == jsonValue {
		return c.Format.print(to.out, struct {
			Intact bool `json:"intact"`
			chain.Report
		}{report.Intact(), report}, nil, nil)
	}
	fmt.Fprintf(to.out, "%d events were checked, up to position %s; %d of other applications are not part of the chain\n", report.Events, report.Position, report.Foreign)
	fmt.Fprintf(to.out, "%d heads of the log fit, and %d exported ones\n", report.Heads, report.Exported)
	for _, finding := range report.Findings {
		fmt.Fprintln(to.out, "FOUND: "+finding.String())
	}
	if report.More > 0 {
		fmt.Fprintf(to.out, "and %d findings more\n", report.More)
	}
	return check.explain(to.out, report)
}

// explain says what is proved, and what is not.
func (c *check) explain(out io.Writer, report chain.Report) (err error) {
	if report.Intact() && report.Last != nil {
		_, err = fmt.Fprintf(out, "Proved: none of the first %d events was changed, removed, added or reordered since %s, unless by somebody who has the key\n",
			report.Last.Count, report.Last.At.UTC().Format(time.RFC3339))
	}
	if report.Intact() && report.Exported > 0 {
		_, err = fmt.Fprintln(out, "Proved by the exported heads: nor by somebody who has the key, up to the last of them")
	}
	if report.Uncovered > 0 {
		_, err = fmt.Fprintf(out, "Not proved: the last %d events, which no head speaks of yet\n", report.Uncovered)
	}
	if c.named {
		_, err = fmt.Fprintf(out, "The log names the key itself, %s: compare it with the one that you know, or say --public-key\n", strings.Join(c.keys, ", "))
	}
	return err
}

func verdict(report chain.Report) string {
	if len(report.Findings) == 0 {
		return "nothing is proved: there are no heads"
	}
	return "the log is not what its signed heads say"
}
