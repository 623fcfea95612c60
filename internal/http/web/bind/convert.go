package bind

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

type kind uint8

const (
	kindText kind = iota
	kindInteger
	kindFloat
	kindBool
	kindList
	kindDict
	kindFile
	kindFiles
	kindRaw
	kindOther // of a reply: nothing that can be bound
)

var (
	fileType    = reflect.TypeFor[File]()
	filesType   = reflect.TypeFor[[]File]()
	stringsType = reflect.TypeFor[[]string]()
	mapType     = reflect.TypeFor[map[string]any]()
	rawType     = reflect.TypeFor[[]byte]()

	unmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// isParsed reports whether a type reads its values from their texts.
func isParsed(t reflect.Type) bool { return reflect.PointerTo(t).Implements(unmarshalerType) }

func kindOf(t reflect.Type) (kind, error) {
	switch t {
	case fileType:
		return kindFile, nil
	case filesType:
		return kindFiles, nil
	case stringsType:
		return kindList, nil
	case mapType:
		return kindDict, nil
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
	case kindDict:
		if value.Kind != JSONObject {
			return dictType()
		}
		_ = json.Unmarshal(value.raw, slot.Addr().Interface()) // it is valid
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
	if limit := f.rules.maxItems; limit != nil && len(items) > *limit {
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
