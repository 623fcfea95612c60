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

// terminal is where commands print: results to out, messages to notes.
type terminal struct {
	out, notes io.Writer
	screen     *os.File  // the terminal that notes is printed on, if any
	answers    io.Reader // nil if nobody is there to answer
	wide       bool      // tables have all columns, however long their lines are
}

func newTerminal(in, out, notes *os.File) terminal {
	t := terminal{out: &harmless{to: out}, notes: &harmless{to: notes}}
	seen := isTerminal(notes)
	if seen && os.Getenv("TERM") != "dumb" { // which cannot draw
		t.screen = notes
	}
	if seen && isTerminal(in) {
		t.answers = in
	}
	return t
}

func isTerminal(file *os.File) bool { return cwriter.IsTerminal(int(file.Fd())) }

// confirm asks for confirmation of irreversible actions. yes means that it was given in advance.
func (t terminal) confirm(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	if t.answers == nil {
		return fail(exitUsage, "%s Nobody is there to answer: say --yes", question)
	}
	fmt.Fprint(t.notes, question, " [y/N] ")
	answer := make(chan string, 1)
	go func() { // ends with the process if Ctrl-C is pressed before the answer
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

// harmless escapes the control characters of text, wherever it comes from: text from a server cannot move the cursor
// or change the title.
type harmless struct {
	to   io.Writer
	rest []byte // the beginning of a character whose other bytes have not been written yet
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
		return 0, err
	}
	return len(piece), nil
}

// printable returns a text from a server as one line of visible characters.
func printable(text string) string { return escape(text, "") }

// escape writes characters that control a terminal, or the direction of text, as \u001b, which means the same in
// JSON.
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

// unprintable reports whether a character is a control or format character (Unicode categories Cc and Cf), a line
// separator, or an invalid byte.
func unprintable(c rune) bool {
	return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || c == utf8.RuneError
}

// stageRefresh is how often the progress of a stage is updated.
const stageRefresh = 200 * time.Millisecond

// stage shows the progress of a long command: a bar on a terminal, lines every few seconds elsewhere.
type stage struct {
	to      terminal
	name    string
	total   int64         // 0 if unknown
	details func() string // nil for the share that is done
	done    int64
	display *progress.Display // nil before the first stage
	shown   time.Time
}

func newStage(to terminal) *stage { return &stage{to: to} }

// begin ends the stage before, and begins one with an amount of work.
func (s *stage) begin(name string, total int64) {
	if s.display != nil && s.name == name && s.total == total {
		return
	}
	s.close()
	s.name, s.total, s.done, s.shown = name, total, 0, time.Time{}
	s.display = progress.New(s.to.screen, s.to.notes)
}

// add adds to the progress.
func (s *stage) add(done int64) { s.set(s.done + done) }

// set sets the progress.
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

// close ends the last stage, and leaves its bar on the screen.
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
