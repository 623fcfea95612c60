package bind

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/url"
	"reflect"
	"strings"
)

// maxParts is the maximum number of parts of a multipart body, like Starlette's limit of 1,000 fields and files.
const maxParts = 1000

// Form is a parsed form body. Empty texts are omitted: an empty form field counts as absent.
type Form struct {
	texts map[string][]string
	files map[string][]File
}

// readURLEncoded parses a form. It never fails: invalid escapes are literal text, as in Python's parse_qsl.
func readURLEncoded(body []byte) *Form {
	f := &Form{texts: map[string][]string{}}
	for pair := range strings.SplitSeq(string(body), "&") {
		name, value, _ := strings.Cut(pair, "=")
		if value = unescapeForm(value); value != "" {
			name = unescapeForm(name)
			f.texts[name] = append(f.texts[name], value)
		}
	}
	return f
}

func unescapeForm(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return strings.ReplaceAll(text, "+", " ")
}

// Keep stores the content of a file while the bound struct is used. It returns the errors of content and of the store.
type Keep func(content io.Reader) (*io.SectionReader, error)

// inMemory is the Keep for bodies that are already in memory.
func inMemory(content io.Reader) (*io.SectionReader, error) {
	all, err := io.ReadAll(content)
	if err != nil {
		return nil, err
	}
	return io.NewSectionReader(bytes.NewReader(all), 0, int64(len(all))), nil
}

// ErrTexts means that the texts of a form are longer than permitted.
var ErrTexts = errors.New("the fields of a form are too long")

// ReadMultipart parses a multipart body that is too large for memory: it passes the contents of the plan's file fields
// to keep, and reads at most the given number of bytes of all other texts. Errors: *MalformedError, ErrTexts, body's
// and keep's.
func (p *Plan) ReadMultipart(contentType string, body io.Reader, texts int, keep Keep) (*Form, error) {
	boundary, err := boundaryOf(contentType)
	if err != nil {
		return nil, err
	}
	in := &multipartReader{
		plan: p, source: &bounded{from: body}, texts: int64(texts), keep: keep,
		form: &Form{texts: map[string][]string{}, files: map[string][]File{}},
	}
	in.parts = multipart.NewReader(in.source, boundary)
	if err := in.read(); err != nil {
		return nil, err
	}
	return in.form, nil
}

// maxBoundary is the limit of RFC 2046, section 5.1.1.
const maxBoundary = 70

func boundaryOf(contentType string) (string, error) {
	_, params, err := mime.ParseMediaType(contentType)
	switch boundary := params["boundary"]; {
	case err != nil || boundary == "":
		return "", &MalformedError{Detail: "Missing boundary in multipart."}
	case len(boundary) > maxBoundary:
		return "", unreadable()
	default:
		return boundary, nil
	}
}

// maxPartHead is the maximum number of bytes before the content of a part: its headers, and the preamble before the
// first one. Package mime/multipart would read up to 10 MiB of headers into memory.
const maxPartHead = 16 << 10

// bounded is a reader that fails after a number of bytes.
type bounded struct {
	from io.Reader
	left int64
	read bool  // anything
	err  error // the error of from
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, unreadable()
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.read = b.read || n > 0
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// multipartReader keeps the parts with a wanted name.
type multipartReader struct {
	plan   *Plan
	source *bounded
	parts  *multipart.Reader
	texts  int64 // bytes that may still be read
	keep   Keep
	form   *Form
}

func (r *multipartReader) read() error {
	for count := 0; ; count++ {
		r.source.left = maxPartHead
		part, err := r.parts.NextRawPart()
		switch {
		case r.source.err != nil:
			return r.source.err
		case err == io.EOF, errors.Is(err, io.EOF) && (count > 0 || !r.source.read):
			return nil // a body without any boundary ends with another error, which wraps io.EOF
		case err != nil || count >= maxParts:
			return unreadable()
		}
		r.source.left = math.MaxInt64
		if err := r.take(part); err != nil {
			return cmp.Or(r.source.err, err)
		}
	}
}

// take reads one part to its end. A part with a file name, even an empty one, is a file. Browsers send an empty file
// without a name for an empty file field.
func (r *multipartReader) take(part *multipart.Part) error {
	field := r.plan.bodyField(part.FormName())
	_, params, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	fileName, isFile := params["filename"]
	switch {
	case field == nil:
		_, err := io.Copy(io.Discard, part)
		return cut(err)
	case isFile && field.takesFiles():
		return r.takeFile(part, fileName)
	}
	text, err := io.ReadAll(io.LimitReader(part, r.texts+1))
	if err != nil {
		return cut(err)
	}
	if r.texts -= int64(len(text)); r.texts < 0 {
		return ErrTexts
	}
	if len(text) > 0 {
		r.form.texts[part.FormName()] = append(r.form.texts[part.FormName()], string(text))
	}
	return nil
}

func (r *multipartReader) takeFile(part *multipart.Part, fileName string) error {
	hash := sha256.New()
	content, err := r.keep(io.TeeReader(part, hash))
	if err != nil {
		return cut(err)
	}
	if fileName == "" && content.Size() == 0 {
		return nil
	}
	file := File{
		Name: fileName, ContentType: part.Header.Get("Content-Type"), Content: content,
		SHA256: hex.EncodeToString(hash.Sum(nil)),
	}
	r.form.files[part.FormName()] = append(r.form.files[part.FormName()], file)
	return nil
}

// cut returns the error for a part without an end.
func cut(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return unreadable()
	}
	return err
}

func unreadable() error { return &MalformedError{Detail: "There was an error parsing the body"} }

func (p *Plan) bindForm(target reflect.Value, f *Form) []Item {
	var wrong []Item
	for _, field := range p.fields[fromBody] {
		wrong = append(wrong, field.bindPart(target, f)...)
	}
	return wrong
}

// bindPart collects the values under all names of the field, and uses all of them for a list, and otherwise the last.
func (f *field) bindPart(target reflect.Value, from *Form) []Item {
	var texts []string
	var files []File
	for _, name := range f.names {
		texts = append(texts, from.texts[name]...)
		files = append(files, from.files[name]...)
	}
	switch {
	case f.takesFiles() && len(texts)+len(files) > 0:
		return f.set(target, Value{}, files)
	case len(texts) == 0:
		return f.absent(target)
	}
	if f.kind == kindList {
		return f.set(target, listValue(texts), nil)
	}
	return f.set(target, textValue(texts[len(texts)-1]), nil)
}
