package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/recital-tts/recital/internal/audio"
	"github.com/recital-tts/recital/internal/speech"
)

// previewText is what previews say.
const previewText = "Hello! This is how I sound. I can read your words aloud, whenever you like."

// previewAudio is playable in a browser.
var previewAudio = audio.Spec{Format: audio.MP3, SampleRate: 24000}

// Previews makes the previews of the system voices, which nobody pays for. Each is made at its first use and kept: there
// are few voices.
type Previews struct {
	speaker  *speech.Speaker
	encoders audio.Encoders

	mu   sync.Mutex
	made map[string]*preview // by voice id
}

// NewPreviews makes a Previews.
func NewPreviews(speaker *speech.Speaker, encoders audio.Encoders) *Previews {
	return &Previews{speaker: speaker, encoders: encoders, made: map[string]*preview{}}
}

// preview is one voice's. Whoever holds turn makes it.
type preview struct {
	turn  chan struct{}
	audio []byte
}

// Preview is a voice's preview, MP3. A preview that failed is made again by the next who asks.
func (p *Previews) Preview(ctx context.Context, voice speech.Voice) ([]byte, error) {
	one := p.of(voice)
	select {
	case one.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for a preview: %w", ctx.Err())
	}
	defer func() { <-one.turn }()
	if one.audio != nil {
		return one.audio, nil
	}
	made, err := p.speak(ctx, voice)
	if err != nil {
		return nil, fmt.Errorf("making a preview: %w", err)
	}
	one.audio = made
	return made, nil
}

func (p *Previews) of(voice speech.Voice) *preview {
	p.mu.Lock()
	defer p.mu.Unlock()
	one, known := p.made[voice.ID]
	if !known {
		one = &preview{turn: make(chan struct{}, 1)}
		p.made[voice.ID] = one
	}
	return one
}

func (p *Previews) speak(ctx context.Context, voice speech.Voice) ([]byte, error) {
	stream := p.speaker.Speak(ctx, speech.Request{Text: previewText, Voice: voice, Language: "en-us", Speed: 1})
	defer stream.Close()
	encoder, err := p.encoders.Open(ctx, previewAudio, stream.SampleRate())
	if err != nil {
		return nil, err
	}
	defer encoder.Close()
	var whole []byte
	for {
		piece, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		encoded, err := encoder.Encode(ctx, piece.PCM)
		if err != nil {
			return nil, err
		}
		whole = append(whole, encoded...)
	}
	last, err := encoder.Finish(ctx)
	if err != nil {
		return nil, err
	}
	return audio.Whole(previewAudio, append(whole, last...)), nil
}
