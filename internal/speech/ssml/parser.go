package ssml

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	namespace       = "http://www.w3.org/2001/10/synthesis"
	xmlNamespace    = "http://www.w3.org/XML/1998/namespace"
	schemaNamespace = "http://www.w3.org/2001/XMLSchema-instance"
	maxName         = 40 // characters of a name that an error quotes
)

// Languages returns the engine language for a code of a client.
type Languages func(code string) (engine string, ok bool)

// Parse parses a document. Errors: *Error.
func Parse(text string, languages Languages) (Document, error) {
	if len(text) > maxBytes {
		return Document{}, newError(text, 0, "the document is too long")
	}
	start := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
	p := &parser{text: text, base: start, languages: languages, decoder: xml.NewDecoder(strings.NewReader(text[start:]))}
	for {
		err := p.step()
		if errors.Is(err, io.EOF) {
			return p.finish()
		}
		if err != nil {
			return Document{}, err
		}
	}
}

type parser struct {
	text      string
	base      int // the offset of the decoder's input in the text
	decoder   *xml.Decoder
	languages Languages

	at     int // the offset of the token
	open   []element
	ended  bool // the root has ended
	number int  // of elements so far
	out    Document
	pauses time.Duration
}

// element is an open element.
type element struct {
	name  string
	at    int
	run   Run // as which its text is spoken
	ends  Boundary
	whole bool // it contains only text
	runs  int  // before it
}

// fail returns an error about the token.
func (p *parser) fail(problem string) error { return newError(p.text, p.at, problem) }

func (p *parser) step() error {
	p.at = p.base + int(p.decoder.InputOffset())
	token, err := p.decoder.Token()
	if err != nil {
		return p.explain(err)
	}
	switch t := token.(type) {
	case xml.StartElement:
		return p.start(t)
	case xml.EndElement:
		return p.end()
	case xml.CharData:
		return p.characters(string(t))
	case xml.Directive:
		return p.fail("a document type or another declaration is not permitted")
	case xml.ProcInst:
		if t.Target == "xml" && p.at == p.base {
			return nil
		}
		return p.fail("a processing instruction is not permitted")
	}
	return nil // a comment
}

// explain returns an error at the place where the decoder has stopped, or io.EOF.
func (p *parser) explain(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	problem := "this is no XML"
	if syntax := (*xml.SyntaxError)(nil); errors.As(err, &syntax) {
		problem = clip(syntax.Msg, 3*maxName)
	}
	return newError(p.text, p.base+int(p.decoder.InputOffset()), problem)
}

func clip(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}

func (p *parser) start(t xml.StartElement) error {
	name := t.Name.Local
	if t.Name.Space != "" && t.Name.Space != namespace {
		return p.fail("<" + clip(name, maxName) + "> is not an element of SSML")
	}
	if err := p.place(name); err != nil {
		return err
	}
	e := element{name: name, at: p.at, run: Run{Style: ownStyle()}, runs: len(p.out.Runs)}
	if n := len(p.open); n > 0 {
		e.run = Run{Style: p.open[n-1].run.Style}
	}
	build, known := builders()[name]
	if !known {
		return p.fail("<" + clip(name, maxName) + "> is not supported")
	}
	a, err := p.attributes(t, build.attributes)
	if err != nil {
		return err
	}
	if err := build.apply(p, &e, a); err != nil {
		return err
	}
	p.open = append(p.open, e)
	return nil
}

// attributePlace returns where the value of an attribute of the token begins. The step is 0 if it is not written as it
// is read, so that only its beginning is known.
func (p *parser) attributePlace(name, value string) (at Error, step int) {
	tag := p.text[p.at : p.base+int(p.decoder.InputOffset())]
	for _, quote := range []string{`"`, "'"} {
		for _, equals := range []string{"=", " =", "= ", " = "} {
			if i := strings.Index(tag, " "+name+equals+quote+value+quote); i >= 0 {
				return *newError(p.text, p.at+i+len(" "+name+equals+quote), ""), 1
			}
		}
	}
	return *newError(p.text, p.at, ""), 0
}

// place checks that an element may begin here.
func (p *parser) place(name string) error {
	quoted := "<" + clip(name, maxName) + ">"
	switch n := len(p.open); {
	case p.ended:
		return p.fail(quoted + " is after the end of <" + root + ">")
	case n == 0 && name != root, n > 0 && name == root:
		return p.fail("<" + root + "> is the outermost element, and no other: " + quoted)
	case n == MaxDepth:
		return p.fail(quoted + " is more than 16 elements deep")
	case n > 0 && p.open[n-1].whole:
		return p.fail("<" + p.open[n-1].name + "> may contain only text: " + quoted)
	}
	p.number++
	return nil
}

// attributes returns an element's attributes by their names, which in the namespace of XML begin with "xml:".
func (p *parser) attributes(t xml.StartElement, known string) (map[string]string, error) {
	found := make(map[string]string, len(t.Attr))
	for _, a := range t.Attr {
		name := a.Name.Local
		switch a.Name.Space {
		case "xmlns", schemaNamespace: // about the markup itself
			continue
		case xmlNamespace, "xml":
			name = "xml:" + name
		case "":
			if name == "xmlns" {
				continue
			}
		default:
			name = "another namespace's " + name
		}
		if _, twice := found[name]; twice || !strings.Contains(known, " "+name+" ") {
			return nil, p.fail("the attribute " + clip(name, maxName) + " of <" + t.Name.Local +
				"> is not supported, or is there twice")
		}
		found[name] = a.Value
	}
	return found, nil
}

func (p *parser) end() error {
	e := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	p.ended = len(p.open) == 0
	if e.whole && (len(p.out.Runs) == e.runs || strings.TrimSpace(p.out.Runs[len(p.out.Runs)-1].Text) == "") &&
		e.name != "break" {
		return newError(p.text, e.at, "<"+e.name+"> has no text")
	}
	if last := p.last(); last != nil && e.run.Class != "" && utf8.RuneCountInString(last.Text) > MaxSpoken {
		return newError(p.text, e.at, "<"+e.name+"> has more than 400 characters")
	}
	p.bound(e.ends)
	return nil
}

func (p *parser) last() *Run {
	if n := len(p.out.Runs); n > 0 {
		return &p.out.Runs[n-1]
	}
	return nil
}

// bound ends the last run at a boundary.
func (p *parser) bound(by Boundary) {
	if last := p.last(); last != nil {
		last.Ends = max(last.Ends, by)
	}
}

func (p *parser) characters(text string) error {
	if len(p.open) == 0 {
		if strings.TrimSpace(text) != "" {
			return p.fail("there is text outside <" + root + ">")
		}
		return nil
	}
	e := p.open[len(p.open)-1]
	if e.name == "break" {
		return p.fail("<break> has text")
	}
	if last := p.last(); last != nil && last.continues(e.run) {
		last.Text += text
		return nil
	}
	if len(p.out.Runs) == MaxRuns {
		return p.fail("the document has more than 300 parts")
	}
	run := e.run
	run.Text = text
	p.out.Runs = append(p.out.Runs, run)
	return nil
}

// continues reports whether a run goes on with the text of an element.
func (r Run) continues(next Run) bool {
	return r.Style == next.Style && r.element == next.element && !r.HasPause && r.Ends == NoBoundary
}

// pause adds a pause after the last run.
func (p *parser) pause(length time.Duration) error {
	if p.pauses += length; p.pauses > MaxPauses {
		return p.fail("<break> makes the pauses longer than 60 seconds together")
	}
	if p.last() == nil {
		p.out.Runs = append(p.out.Runs, Run{Style: ownStyle()})
	}
	last := p.last()
	last.HasPause, last.Pause = true, last.Pause+length
	return nil
}

func (p *parser) finish() (Document, error) {
	var text strings.Builder
	for _, r := range p.out.Runs {
		text.WriteString(r.Text)
	}
	p.out.Text = text.String()
	if strings.TrimSpace(p.out.Text) == "" {
		return Document{}, newError(p.text, p.base, "<"+root+"> has no text")
	}
	return p.out, nil
}
