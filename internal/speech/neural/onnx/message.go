package onnx

import (
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a protobuf message. It refers to the bytes that it was read from.
type message []field

// field is a field of a message.
type field struct {
	number  protowire.Number
	raw     []byte // including the tag
	content []byte // the value of a bytes field
	varint  uint64
}

func parse(content []byte) (m message, err error) {
	for len(content) > 0 {
		number, kind, n := protowire.ConsumeTag(content)
		if n < 0 {
			return nil, errors.New("the message is damaged")
		}
		size := protowire.ConsumeFieldValue(number, kind, content[n:])
		if size < 0 {
			return nil, errors.New("the message is damaged")
		}
		f := field{number: number, raw: content[:n+size]}
		switch kind {
		case protowire.BytesType:
			f.content, _ = protowire.ConsumeBytes(content[n:])
		case protowire.VarintType:
			f.varint, _ = protowire.ConsumeVarint(content[n:])
		}
		m, content = append(m, f), content[n+size:]
	}
	return m, nil
}

// all returns the values of a repeated bytes field.
func (m message) all(number protowire.Number) (values [][]byte) {
	for _, f := range m {
		if f.number == number {
			values = append(values, f.content)
		}
	}
	return values
}

// texts returns the values of a repeated string field.
func (m message) texts(number protowire.Number) (values []string) {
	for _, content := range m.all(number) {
		values = append(values, string(content))
	}
	return values
}

// text returns the value of a string field.
func (m message) text(number protowire.Number) (value string) {
	for _, content := range m.all(number) {
		value = string(content)
	}
	return value
}

// ints returns the values of a repeated integer field, packed or not.
func (m message) ints(number protowire.Number) (values []int64) {
	for _, f := range m {
		if f.number == number && f.content == nil {
			values = append(values, int64(f.varint))
		}
		for rest := f.content; f.number == number && len(rest) > 0; {
			value, n := protowire.ConsumeVarint(rest)
			if n < 0 {
				return nil
			}
			values, rest = append(values, int64(value)), rest[n:]
		}
	}
	return values
}

// has reports whether one of the fields has a value.
func (m message) has(numbers ...protowire.Number) bool {
	return slices.ContainsFunc(m, func(f field) bool {
		return slices.Contains(numbers, f.number) && (len(f.content) > 0 || f.varint != 0)
	})
}

// without returns the encoded fields other than one.
func (m message) without(number protowire.Number) (raw [][]byte) {
	for _, f := range m {
		if f.number != number {
			raw = append(raw, f.raw)
		}
	}
	return raw
}

// appendMessage appends a field with a message that consists of encoded fields. They are copied once, because they may
// be large.
func appendMessage(to []byte, number protowire.Number, fields ...[]byte) []byte {
	size := 0
	for _, f := range fields {
		size += len(f)
	}
	to = slices.Grow(to, protowire.SizeTag(number)+protowire.SizeBytes(size))
	to = protowire.AppendVarint(protowire.AppendTag(to, number, protowire.BytesType), uint64(size))
	for _, f := range fields {
		to = append(to, f...)
	}
	return to
}

func appendInts(to []byte, number protowire.Number, values ...int64) []byte {
	for _, v := range values {
		to = protowire.AppendVarint(protowire.AppendTag(to, number, protowire.VarintType), uint64(v))
	}
	return to
}
