package bind

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"reflect"
	"strings"
)

// maxParts bounds the parts of a multipart body, like Starlette's limit of 1,000 fields and files.
const maxParts = 1000

// form is a taken-apart form body. Empty texts are left out: an empty form field counts as absent.
type form struct {
	texts map[string][]string
	files map[string][]File
}

// readURLEncoded never fails: what is not an escape stays as it is, as in Python's parse_qsl.
func readURLEncoded(body []byte) form {
	f := form{texts: map[string][]string{}}
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

// readMultipart keeps the parts with a wanted name. Their count is bounded here, their size by the body's limit.
func readMultipart(contentType string, body []byte, wanted func(string) bool) (form, error) {
	f := form{texts: map[string][]string{}, files: map[string][]File{}}
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil || params["boundary"] == "" {
		return form{}, &MalformedError{Detail: "Missing boundary in multipart."}
	}
	reader := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for count := 0; ; count++ {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) && (count > 0 || startsWith(body, params["boundary"])) {
			return f, nil
		}
		if err != nil || count >= maxParts {
			return form{}, unreadable()
		}
		if !wanted(part.FormName()) {
			continue
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return form{}, unreadable()
		}
		f.add(part, content)
	}
}

// startsWith reports whether a body is multipart at all: the reader takes one without any boundary for an empty one.
func startsWith(body []byte, boundary string) bool {
	return len(body) == 0 || bytes.Contains(body, []byte("--"+boundary))
}

func unreadable() error { return &MalformedError{Detail: "There was an error parsing the body"} }

// add keeps one part. What has a file name, be it empty, is a file; an empty file without a name is what browsers
// send for a file field that was left empty.
func (f *form) add(part *multipart.Part, content []byte) {
	name := part.FormName()
	_, params, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	fileName, isFile := params["filename"]
	switch {
	case isFile && (fileName != "" || len(content) > 0):
		file := File{Name: fileName, ContentType: part.Header.Get("Content-Type"), Content: content}
		f.files[name] = append(f.files[name], file)
	case !isFile && len(content) > 0:
		f.texts[name] = append(f.texts[name], string(content))
	}
}

func (p *Plan) bindForm(target reflect.Value, f form) []Item {
	var wrong []Item
	for _, field := range p.fields[fromBody] {
		wrong = append(wrong, field.bindPart(target, f)...)
	}
	return wrong
}

// bindPart collects the values under all names of the field, and then uses all of them, or the last.
func (f *field) bindPart(target reflect.Value, from form) []Item {
	var texts []string
	var files []File
	for _, name := range f.names {
		texts = append(texts, from.texts[name]...)
		files = append(files, from.files[name]...)
	}
	wantsFiles := f.kind == kindFile || f.kind == kindFiles
	switch {
	case wantsFiles && len(texts)+len(files) > 0:
		return f.set(target, nil, files)
	case !wantsFiles && len(texts) == 0 && len(files) > 0:
		texts = []string{string(files[len(files)-1].Content)}
	case len(texts) == 0:
		return f.absent(target)
	}
	if f.kind == kindList {
		return f.set(target, listOf(texts), nil)
	}
	return f.set(target, textOf(texts[len(texts)-1]), nil)
}
