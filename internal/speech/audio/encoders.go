package audio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrUnsupported means that no encoder supports the requested format.
var ErrUnsupported = errors.New("the audio format is not supported")

// NewEncoders returns encoders for all formats. They use codecs for compressed formats and to change the sample rate,
// and encode everything else themselves.
func NewEncoders(codecs Encoders) Encoders { return encoders{codecs} }

type encoders struct{ codecs Encoders }

func (e encoders) Open(ctx context.Context, spec Spec, inputRate int) (Encoder, error) {
	if !slices.Contains(SampleRates(), spec.SampleRate) {
		return nil, fmt.Errorf("%s at %d Hz: %w", spec.Format, spec.SampleRate, ErrUnsupported)
	}
	source, err := e.source(ctx, spec, inputRate)
	if err != nil {
		return nil, err
	}
	switch spec.Format {
	case WAV:
		return &converter{Encoder: source, header: waveHeader(spec)}, nil
	case ULaw:
		return &converter{Encoder: source, header: waveHeader(spec), convert: encodeULaw}, nil
	case PCMF32LE:
		return &converter{Encoder: source, convert: encodeFloat}, nil
	default:
		return &converter{Encoder: source}, nil
	}
}

// source returns the encoder before the conversion: a codec, a resampler, or unchanged.
func (e encoders) source(ctx context.Context, spec Spec, inputRate int) (Encoder, error) {
	switch spec.Format {
	case MP3, AAC, WebM, OggOpus, FLAC:
		return e.codecs.Open(ctx, spec, inputRate)
	case Raw, PCMS16LE, PCMF32LE, WAV, ULaw:
		if spec.SampleRate == inputRate {
			return unchanged{}, nil
		}
		return e.codecs.Open(ctx, Spec{Format: PCMS16LE, SampleRate: spec.SampleRate}, inputRate)
	default:
		return nil, fmt.Errorf("%q: %w", spec.Format, ErrUnsupported)
	}
}

// converter adds a header and a conversion to the output of another encoder.
type converter struct {
	Encoder
	header  []byte                       // not returned yet
	convert func(dst, pcm []byte) []byte // nil leaves the bytes unchanged
	half    []byte                       // the first byte of an incomplete sample
}

func (c *converter) Encode(ctx context.Context, pcm []byte) ([]byte, error) {
	encoded, err := c.Encoder.Encode(ctx, c.wholeSamples(pcm))
	if err != nil {
		return nil, err
	}
	return c.deliver(encoded), nil
}

func (c *converter) Finish(ctx context.Context) ([]byte, error) {
	encoded, err := c.Encoder.Finish(ctx)
	if err != nil {
		return nil, err
	}
	return c.deliver(encoded), nil
}

// wholeSamples keeps the last byte back if pcm ends within a sample.
func (c *converter) wholeSamples(pcm []byte) []byte {
	if len(c.half) > 0 {
		pcm = append(c.half, pcm...)
		c.half = nil
	}
	if len(pcm)%2 == 0 {
		return pcm
	}
	last := len(pcm) - 1
	c.half = []byte{pcm[last]}
	return pcm[:last]
}

func (c *converter) deliver(encoded []byte) []byte {
	header := c.header
	c.header = nil
	if c.convert != nil {
		return c.convert(header, encoded)
	}
	if header == nil {
		return encoded
	}
	return append(header, encoded...)
}

// unchanged is the encoder for samples that are already in the requested format.
type unchanged struct{}

func (unchanged) Encode(ctx context.Context, pcm []byte) ([]byte, error) {
	return pcm, ctx.Err()
}

func (unchanged) Finish(ctx context.Context) ([]byte, error) { return nil, ctx.Err() }

func (unchanged) Rest(ctx context.Context) error { return ctx.Err() }

func (unchanged) Wake(ctx context.Context) error { return ctx.Err() }

func (unchanged) Close() {}

// encodeFloat appends the samples of pcm as 32-bit floats in [-1, 1), little-endian.
func encodeFloat(dst, pcm []byte) []byte {
	dst = slices.Grow(dst, 2*len(pcm))
	for i := 0; i+1 < len(pcm); i += 2 {
		sample := int16(binary.LittleEndian.Uint16(pcm[i:]))
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(sample)/(1<<15)))
	}
	return dst
}
