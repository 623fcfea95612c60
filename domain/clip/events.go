// Package clip is the aggregate of the streams clip-<id>: a result of a synthesis that its account has saved. The
// audio is a blob; audio and text are sealed with the account's key, so that they are never stored in clear.
package clip

import "time"

// Event is one of the events below.
type Event interface{ clipEvent() }

// Saved records that a result was saved. It is written after its blob.
type Saved struct {
	Clip         string    `json:"clip"`
	Account      string    `json:"account"`
	Voice        string    `json:"voice"`
	Language     string    `json:"language"` // the language spoken, by the engine's name
	Speed        float64   `json:"speed"`
	Format       string    `json:"format"`
	SampleRate   int       `json:"sampleRate"` // Hz
	MediaType    string    `json:"mediaType"`  // of the blob
	Characters   int64     `json:"characters"` // of the text, in Unicode code points
	Milliseconds int64     `json:"milliseconds"`
	Blob         string    `json:"blob"` // its address; the blob is sealed, like Sealed
	Bytes        int64     `json:"bytes"`
	Seed         int64     `json:"seed"`
	Settings     Settings  `json:"settings"`
	Debug        bool      `json:"debug"`  // saved because the request set debug
	Sealed       []byte    `json:"sealed"` // a Content in JSON, sealed for SealedFor
	At           time.Time `json:"at"`
}

// Settings are the parameters of the request that have no field in Saved; nil where the request omitted one.
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

// Content holds the parts of a request that are free text. It is stored only sealed.
type Content struct {
	Text             string `json:"text"`
	Language         string `json:"language,omitempty"` // as in the request; "" if it was to be detected
	OriginalText     string `json:"originalText,omitempty"`
	OriginalLanguage string `json:"originalLanguage,omitempty"`
	Solver           string `json:"solver,omitempty"`
}

// Deleted records that a clip was deleted. Its blob is removed afterwards.
type Deleted struct {
	Clip    string    `json:"clip"`
	Account string    `json:"account"`
	Blob    string    `json:"blob"`
	At      time.Time `json:"at"`
}

func (Saved) clipEvent()   {}
func (Deleted) clipEvent() {}
