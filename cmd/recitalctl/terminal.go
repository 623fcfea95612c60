package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8/cwriter"

	"github.com/recital-tts/recital/cmd/recitalctl/progress"
)

// terminal has the outputs of commands: out for results, notes for messages.
type terminal struct {
	out, notes io.Writer
	screen     *os.File  // the terminal that notes writes to, if any
	answers    io.Reader // nil if the command is not interactive
	wide       bool      // print all columns of tables
}

func newTerminal(in, out, notes *os.File) terminal {
	t := terminal{out: &harmless{to: out}, notes: &harmless{to: notes}}
	seen := isTerminal(notes)
	if seen && os.Getenv("TERM") != "dumb" { // a dumb terminal cannot draw bars
		t.screen = notes
	}
	if seen && isTerminal(in) {
		t.answers = in
	}
	return t
}

func isTerminal(file *os.File) bool { return cwriter.IsTerminal(int(file.Fd())) }

// confirm asks for confirmation of an irreversible action. If yes is set, it was given in advance.
func (t terminal) confirm(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	if t.answers == nil {
		return fail(exitUsage, "%s There is no terminal to answer on: give --yes", question)
	}
	fmt.Fprint(t.notes, question, " [y/N] ")
	answer := make(chan string, 1)
	go func() { // after Ctrl-C it runs until the process ends
		line, _ := bufio.NewReader(t.answers).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(t.notes)
	case said := <-answer:
		if said == "y" || said == "yes" {
			return nil
		}
	}
	return errors.New("nothing was changed")
}

// report prints a message about the success of a request, or returns its error.
func (t terminal) report(err error, message string) error {
	if err == nil {
		fmt.Fprintln(t.notes, message)
	}
	return err
}

// harmless escapes control characters, so that text from a server cannot move the cursor or change the title.
type harmless struct {
	to   io.Writer
	rest []byte // the first bytes of an incomplete character
}

// Write implements io.Writer.
func (h *harmless) Write(piece []byte) (int, error) {
	text := append(h.rest, piece...)
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if begin := len(text) - back; utf8.RuneStart(text[begin]) && !utf8.FullRune(text[begin:]) {
			whole = begin
		}
	}
	h.rest = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(h.to, escape(string(text[:whole]), "\n\t")); err != nil {
		return 0, fmt.Errorf("printing: %w", err)
	}
	return len(piece), nil
}

// printable returns text from a server as one line of visible characters.
func printable(text string) string { return escape(text, "") }

// escape replaces characters that control a terminal or the direction of text by escapes such as \u001b, which JSON
// also understands. It does not replace characters in keep.
func escape(text, keep string) string {
	if strings.IndexFunc(text, unprintable) < 0 {
		return text
	}
	var out strings.Builder
	for _, c := range text {
		switch {
		case !unprintable(c) || strings.ContainsRune(keep, c):
			out.WriteRune(c)
		case c > 0xffff:
			fmt.Fprintf(&out, `\U%08x`, c)
		default:
			fmt.Fprintf(&out, `\u%04x`, c)
		}
	}
	return out.String()
}

// unprintable reports whether c is a control or format character (Unicode categories Cc and Cf), a line separator, or
// an invalid byte.
func unprintable(c rune) bool {
	return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || c == utf8.RuneError
}

// stageRefresh is the interval of updating the progress.
const stageRefresh = 200 * time.Millisecond

// stage shows the progress of a long command: as a bar on a terminal, as lines every few seconds elsewhere.
type stage struct {
	to      terminal
	name    string
	total   int64         // 0 if unknown
	details func() string // replaces the share that is done, if not nil
	done    int64
	display *progress.Display // nil before the first stage
	shown   time.Time
}

func newStage(to terminal) *stage { return &stage{to: to} }

// begin ends the current stage and begins another one. total is the amount of work.
func (s *stage) begin(name string, total int64) {
	if s.display != nil && s.name == name && s.total == total {
		return
	}
	s.close()
	s.name, s.total, s.done, s.shown = name, total, 0, time.Time{}
	s.display = progress.New(s.to.screen, s.to.notes)
}

// add adds to the amount of work that is done.
func (s *stage) add(done int64) { s.set(s.done + done) }

// set sets the amount of work that is done.
func (s *stage) set(done int64) {
	s.done = done
	if now := time.Now(); now.Sub(s.shown) >= stageRefresh {
		s.shown = now
		s.show()
	}
}

func (s *stage) show() {
	item := progress.Item{Title: s.name, Share: -1}
	if s.total > 0 {
		item.Share = min(float64(s.done)/float64(s.total), 1)
		item.Details = progress.Percent(item.Share)
	}
	if s.details != nil {
		item.Details = s.details()
	}
	s.display.Show(item)
}

// close ends the current stage. Its bar stays on the screen.
func (s *stage) close() {
	if s.display == nil {
		return
	}
	if !s.shown.IsZero() && s.to.screen != nil {
		s.show()
	}
	s.display.Close()
	s.display = nil
}
