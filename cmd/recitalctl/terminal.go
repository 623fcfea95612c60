package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8/cwriter"
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
