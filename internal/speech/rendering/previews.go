package rendering

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
)

// previewText is the text of previews.
const previewText = "Hello! This is how I sound. I can read your words aloud, whenever you like."

// previewAudio returns a format that a browser plays.
func previewAudio() audio.Spec { return audio.Spec{Format: audio.MP3, SampleRate: 24000} }

// Previews renders previews of voices, which are free. The few previews of system voices are rendered at their first
// use and cached.
type Previews struct {
	speaker  *speech.Speaker
	encoders audio.Encoders

	mu   sync.Mutex
	made map[string]*preview // by the ids of the voice and of the installed voice that speaks for it
}

// NewPreviews returns a Previews.
func NewPreviews(speaker *speech.Speaker, encoders audio.Encoders) *Previews {
	return &Previews{speaker: speaker, encoders: encoders, made: map[string]*preview{}}
}

// preview is the preview of one voice. The holder of the lock renders it.
type preview struct {
	turn  chan struct{}
	audio []byte
}

// Preview returns the preview of a system voice, as MP3. After a failure the next call tries again.
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
	made, err := p.Render(ctx, voice)
	if err != nil {
		return nil, fmt.Errorf("making a preview: %w", err)
	}
	one.audio = made
	return made, nil
}

func (p *Previews) of(voice speech.Voice) *preview {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := voice.ID
	if voice.Installed != nil {
		key += " " + voice.Installed.ID
	}
	one, known := p.made[key]
	if !known {
		one = &preview{turn: make(chan struct{}, 1)}
		p.made[key] = one
	}
	return one
}

// Render renders the preview of any voice, as MP3, without caching it.
func (p *Previews) Render(ctx context.Context, voice speech.Voice) ([]byte, error) {
	language := "en-us"
	if of := voice.Installed; of != nil && !slices.Contains(of.Languages, language) {
		language = of.Languages[0]
	}
	stream := p.speaker.Speak(ctx, speech.Request{Text: previewText, Voice: voice, Language: language, Speed: 1})
	defer stream.Close()
	encoder, err := p.encoders.Open(ctx, previewAudio(), stream.SampleRate())
	if err != nil {
		return nil, err
	}
	defer encoder.Close()
	var whole []byte
	err = Render(ctx, stream, encoder.Encode, func(_ speech.Piece, encoded []byte) error {
		whole = append(whole, encoded...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	last, err := encoder.Finish(ctx)
	if err != nil {
		return nil, err
	}
	return audio.Whole(previewAudio(), append(whole, last...)), nil
}
