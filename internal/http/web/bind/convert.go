package bind

import (
	"encoding"
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

type kind uint8

const (
	kindText kind = iota
	kindInteger
	kindFloat
	kindBool
	kindList
	kindFile
	kindFiles
	kindRaw
	kindOther // of a reply; it cannot be bound
)

var (
	fileType    = reflect.TypeFor[File]()
	filesType   = reflect.TypeFor[[]File]()
	stringsType = reflect.TypeFor[[]string]()
	rawType     = reflect.TypeFor[[]byte]()

	unmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// isParsed reports whether a type parses its values from text.
func isParsed(t reflect.Type) bool { return reflect.PointerTo(t).Implements(unmarshalerType) }

func kindOf(t reflect.Type) (kind, error) {
	switch t {
	case fileType:
		return kindFile, nil
	case filesType:
		return kindFiles, nil
	case stringsType:
		return kindList, nil
	case rawType:
		return kindRaw, nil
	}
	if isParsed(t) {
		return kindText, nil
	}
	switch t.Kind() {
	case reflect.String:
		return kindText, nil
	case reflect.Int, reflect.Int64:
		return kindInteger, nil
	case reflect.Float64:
		return kindFloat, nil
	case reflect.Bool:
		return kindBool, nil
	}
	return 0, fmt.Errorf("type %s cannot be bound", t)
}

// convert checks a value and stores it in slot. A file field gets files instead of a value.
func (f *field) convert(slot reflect.Value, value Value, files []File) []Item {
	switch f.kind {
	case kindFile, kindFiles:
		return f.convertFiles(slot, files)
	case kindList:
		return f.convertList(slot, value)
	}
	if wrong := f.convertOne(slot, value); wrong != nil {
		return []Item{wrong.at(f.loc()...)}
	}
	return nil
}

func (f *field) convertOne(slot reflect.Value, value Value) *fault {
	switch f.kind {
	case kindText:
		text, wrong := f.text(value)
		if wrong != nil {
			return wrong
		}
		return setText(slot, text)
	case kindInteger:
		n, wrong := integer(value)
		if wrong == nil {
			wrong = f.rules.integer(n)
		} else if f.rules.setKind != "" {
			wrong = f.rules.outOfSet()
		}
		if wrong != nil {
			return wrong
		}
		slot.SetInt(n)
	case kindFloat:
		n, wrong := float(value)
		if wrong == nil {
			wrong = f.rules.float(n)
		}
		if wrong != nil {
			return wrong
		}
		slot.SetFloat(n)
	case kindBool:
		yes, wrong := boolean(value)
		if wrong != nil {
			return wrong
		}
		slot.SetBool(yes)
	}
	return nil
}

func setText(slot reflect.Value, text string) *fault {
	parsed, ok := slot.Addr().Interface().(encoding.TextUnmarshaler)
	if !ok {
		slot.SetString(text)
		return nil
	}
	if err := parsed.UnmarshalText([]byte(text)); err != nil {
		return valueError(err.Error())
	}
	return nil
}

func (f *field) text(value Value) (string, *fault) {
	if value.Kind == JSONObject && f.rules.Member != "" {
		value = value.member(f.rules.Member)
	}
	if value.Kind != String {
		switch {
		case f.rules.setKind != "":
			return "", f.rules.outOfSet()
		case f.rules.url:
			return "", urlType()
		}
		return "", stringType()
	}
	if value.BadText {
		return "", stringUnicode()
	}
	if strings.IndexByte(value.Text, 0) >= 0 {
		return "", valueError("a text must not contain the character NUL (U+0000)")
	}
	return f.rules.text(value.Text)
}

func (f *field) convertList(slot reflect.Value, value Value) []Item {
	if value.Kind != Array {
		return []Item{listType().at(f.loc()...)}
	}
	items := value.Items()
	if limit := f.rules.MaxItems; limit != nil && len(items) > *limit {
		return []Item{tooMany(*limit, len(items)).at(f.loc()...)}
	}
	list := make([]string, len(items))
	var wrong []Item
	for i, item := range items {
		text, fault := f.text(item)
		if fault != nil {
			wrong = append(wrong, fault.at(f.loc(i)...))
			continue
		}
		list[i] = text
	}
	if len(wrong) == 0 {
		slot.Set(reflect.ValueOf(list))
	}
	return wrong
}

func (f *field) convertFiles(slot reflect.Value, files []File) []Item {
	if len(files) == 0 {
		return []Item{notAFile().at(f.loc()...)}
	}
	if f.kind == kindFile {
		slot.Set(reflect.ValueOf(files[len(files)-1]))
		return nil
	}
	slot.Set(reflect.ValueOf(files))
	return nil
}

var schemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// httpURL checks and normalises a URL like a browser (WHATWG URL, like pydantic's HttpUrl): it removes white space
// around it, and line breaks and tabs within, and turns backslashes into slashes. Later checks of the result see the
// host that a browser would visit.
func httpURL(text string) (string, *fault) {
	if text == "" {
		return "", urlParsing("input is empty")
	}
	text = strings.TrimFunc(text, func(c rune) bool { return c <= ' ' })
	text = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(text)
	scheme := schemePattern.FindString(text)
	if scheme == "" {
		return "", urlParsing("relative URL without a base")
	}
	rest := text[len(scheme):]
	scheme = strings.ToLower(strings.TrimSuffix(scheme, ":"))
	if scheme != "http" && scheme != "https" {
		return "", urlScheme()
	}
	rest = strings.TrimLeft(rest, `/\`)
	end := strings.IndexAny(rest, `/\?#`)
	if end < 0 {
		end = len(rest)
	}
	authority, wrong := normalAuthority(rest[:end])
	if wrong != nil {
		return "", wrong
	}
	return scheme + "://" + authority + normalPath(rest[end:]), nil
}

// normalPath turns backslashes before the query into slashes.
func normalPath(rest string) string {
	end := strings.IndexAny(rest, "?#")
	if end < 0 {
		end = len(rest)
	}
	path := strings.ReplaceAll(rest[:end], `\`, "/")
	if path == "" {
		path = "/"
	}
	return path + rest[end:]
}

func normalAuthority(authority string) (string, *fault) {
	user, host := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, host = authority[:at+1], authority[at+1:]
	}
	port := ""
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host, port = host[:colon], host[colon:]
	}
	if host == "" {
		return "", urlParsing("empty host")
	}
	host, wrong := normalHost(host)
	if wrong != nil {
		return "", wrong
	}
	if port == ":" {
		port = ""
	}
	if port != "" {
		if _, err := strconv.ParseUint(port[1:], 10, 16); err != nil || port[1] == '+' {
			return "", urlParsing("invalid port number")
		}
	}
	return user + host + port, nil
}

func normalHost(host string) (string, *fault) {
	if strings.HasPrefix(host, "[") {
		addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if err != nil || !addr.Is6() || addr.Zone() != "" || !strings.HasSuffix(host, "]") {
			return "", urlParsing("invalid IPv6 address")
		}
		return "[" + addr.String() + "]", nil
	}
	const badName = "invalid international domain name"
	decoded, err := url.PathUnescape(host)
	if err != nil || strings.ContainsAny(decoded, " #%/:<>?@[\\]^|\x7f") ||
		strings.ContainsFunc(decoded, func(c rune) bool { return c < ' ' }) {
		return "", urlParsing(badName)
	}
	name, err := idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false)).ToASCII(decoded)
	if err != nil && !isASCII(decoded) || strings.HasSuffix(strings.ToLower(decoded), "xn--") {
		return "", urlParsing(badName)
	}
	if isASCII(decoded) && err != nil {
		name = strings.ToLower(decoded)
	}
	if endsInNumber(name) {
		addr, err := netip.ParseAddr(name)
		if err != nil || !addr.Is4() {
			return "", urlParsing("invalid IPv4 address")
		}
	}
	return name, nil
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c > '\x7f' })
}

// endsInNumber reports whether the WHATWG rules read the host as an IPv4 address.
func endsInNumber(host string) bool {
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := labels[len(labels)-1]
	return last != "" && strings.Trim(last, "0123456789") == ""
}
