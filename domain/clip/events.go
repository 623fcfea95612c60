// Package clip is the aggregate of stream clip-<id>: a result of a synthesis that its account keeps. Its audio is a blob;
// what was said is sealed with the account's key, so that it is nowhere in clear.
package clip

import "time"

// Event is one of the events below.
type Event interface{ clipEvent() }

// Saved keeps a result. It is written after its blob.
type Saved struct {
	Clip         string    `json:"clip"`
	Account      string    `json:"account"`
	Voice        string    `json:"voice"`
	Language     string    `json:"language"` // that was spoken, as the engine calls it
	Speed        float64   `json:"speed"`
	Format       string    `json:"format"`
	SampleRate   int       `json:"sampleRate"` // Hz
	MediaType    string    `json:"mediaType"`  // of the blob
	Characters   int64     `json:"characters"` // of the text, in Unicode code points
	Milliseconds int64     `json:"milliseconds"`
	Blob         string    `json:"blob"` // its address
	Bytes        int64     `json:"bytes"`
	Seed         int64     `json:"seed"`
	Settings     Settings  `json:"settings"`
	Debug        bool      `json:"debug"`  // saved because the request said debug
	Sealed       []byte    `json:"sealed"` // a Content in JSON, for use SealedFor
	At           time.Time `json:"at"`
}

// Settings are what the request said beside what Saved has fields for; nil is what it left out.
type Settings struct {
	Model          string   `json:"model,omitempty"`
	Conversational *bool    `json:"conversational,omitempty"`
	Temperature    *float64 `json:"temperature,omitempty"`
	TopK           *int     `json:"topK,omitempty"`
	TopP           *float64 `json:"topP,omitempty"`
	Length         *float64 `json:"length,omitempty"` // seconds
	Expressive     *float64 `json:"expressive,omitempty"`
	Quality        *int     `json:"quality,omitempty"`
}

// Content is what a client said in its own words: whatever of a request may hold any text. It is only ever kept sealed.
type Content struct {
	Text             string `json:"text"`
	OriginalText     string `json:"originalText,omitempty"`
	OriginalLanguage string `json:"originalLanguage,omitempty"`
	Solver           string `json:"solver,omitempty"`
}

// Deleted ends a clip. Its blob is removed after it.
type Deleted struct {
	Clip    string    `json:"clip"`
	Account string    `json:"account"`
	Blob    string    `json:"blob"`
	At      time.Time `json:"at"`
}

func (Saved) clipEvent()   {}
func (Deleted) clipEvent() {}
