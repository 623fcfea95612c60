// Package voice is the aggregate of the streams voice-<id>: a voice that an account has made from recordings. The
// client's description, the recordings, their analyses and the model are sealed with the account's key.
package voice

import "time"

// Event is one of the events below.
type Event interface{ voiceEvent() }

// Type is how a voice is made.
type Type string

// The types of the voices of accounts.
const (
	Instant      Type = "instant"      // fitted immediately
	Professional Type = "professional" // trained on all of many minutes of speech
)

// Created records that an account wants a voice. It is written after the blobs of its recordings.
type Created struct {
	Voice      string      `json:"voice"`
	Account    string      `json:"account"`
	Type       Type        `json:"type"`
	Sealed     []byte      `json:"sealed"`  // a Profile in JSON, sealed for SealedFor
	Enhance    bool        `json:"enhance"` // steady noise in the recordings is reduced
	Filter     bool        `json:"filter"`  // unusable stretches of the recordings are left out
	Recordings []Recording `json:"recordings"`
	At         time.Time   `json:"at"`
}

// Recording is a client's file, unchanged.
type Recording struct {
	Blob   string `json:"blob"` // its address; the blob is sealed
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // in hex
}

// Profile is a client's description of a voice. It is free text, and stored only sealed.
type Profile struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Gender      string   `json:"gender,omitempty"`
	Accent      string   `json:"accent,omitempty"`
	Tags        []string `json:"tags,omitempty"`
}

// Changed records that a client has changed the profile.
type Changed struct {
	Voice   string    `json:"voice"`
	Account string    `json:"account"`
	Sealed  []byte    `json:"sealed"` // the whole Profile
	At      time.Time `json:"at"`
}

// Queued records that the recordings of a professional voice can be used, and that it waits for its training.
type Queued struct {
	Voice   string    `json:"voice"`
	Account string    `json:"account"`
	Lengths []int64   `json:"lengths"` // of the recordings, in milliseconds
	At      time.Time `json:"at"`
}

// TrainingBegun records that the training of a professional voice has begun.
type TrainingBegun struct {
	Voice   string    `json:"voice"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// Analysed records that a stretch of a recording was analysed: all of it for an instant voice, minutes for a
// professional one. It is written after its blob.
type Analysed struct {
	Voice   string `json:"voice"`
	Account string `json:"account"`
	Analysis
	Done  int       `json:"done"`  // stretches, this one included
	Total int       `json:"total"` // stretches of all recordings
	At    time.Time `json:"at"`
}

// Analysis is the stored analysis of a stretch.
type Analysis struct {
	Recording int    `json:"recording"` // its index
	From      int64  `json:"from"`      // milliseconds
	Length    int64  `json:"length"`    // milliseconds
	Speech    int64  `json:"speech"`    // milliseconds of it to which the voice is fitted
	Blob      string `json:"blob"`      // its address; the blob is sealed
}

// Ready records that the voice can speak. It is written after the blob of its model.
type Ready struct {
	Voice   string    `json:"voice"`
	Account string    `json:"account"`
	Model   Model     `json:"model"`
	At      time.Time `json:"at"`
}

// Model is the model of a voice for an engine.
type Model struct {
	Engine string `json:"engine"` // the engine that made it, with the version of its models
	Blob   string `json:"blob"`   // its address; the blob is sealed
	SHA256 string `json:"sha256"` // of the model in clear, in hex
	Bytes  int64  `json:"bytes"`
	Base   string `json:"base,omitempty"` // id of the installed voice on which it is based; "" for a system voice
}

// Broken records that no voice can be made from the recordings.
type Broken struct {
	Voice   string    `json:"voice"`
	Account string    `json:"account"`
	Reason  string    `json:"reason"`  // a code for programs, such as "too_long"
	Message string    `json:"message"` // for the voice's owner; without content of the recordings
	At      time.Time `json:"at"`
}

// Cancelled records that a voice was deleted before it was ready, or broken.
type Cancelled struct {
	Voice   string    `json:"voice"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// Deleted records that a voice was deleted. Its blobs are removed afterwards.
type Deleted struct {
	Voice   string    `json:"voice"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// Erased records that the blobs of a deleted voice are removed, and its place is free.
type Erased struct {
	Voice   string    `json:"voice"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// Abandoned records that the voice will never be created, because a crash has cut its creation short.
type Abandoned struct {
	Voice   string    `json:"voice"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// PreviewRendered records that there is a preview. It is written after its blob.
type PreviewRendered struct {
	Voice   string    `json:"voice"`
	Account string    `json:"account"`
	Preview Preview   `json:"preview"`
	At      time.Time `json:"at"`
}

// Preview is a sample of a voice, as MP3.
type Preview struct {
	Blob   string `json:"blob"`   // its address; the blob is sealed
	SHA256 string `json:"sha256"` // of the audio in clear, in hex
	Bytes  int64  `json:"bytes"`
}

// PreviewInvalidated records that the preview is to be re-rendered. Its blob is removed afterwards.
type PreviewInvalidated struct {
	Voice   string    `json:"voice"`
	Account string    `json:"account"`
	Blob    string    `json:"blob"`
	At      time.Time `json:"at"`
}

func (Created) voiceEvent()            {}
func (Changed) voiceEvent()            {}
func (Queued) voiceEvent()             {}
func (TrainingBegun) voiceEvent()      {}
func (Analysed) voiceEvent()           {}
func (Ready) voiceEvent()              {}
func (Broken) voiceEvent()             {}
func (Cancelled) voiceEvent()          {}
func (Deleted) voiceEvent()            {}
func (Erased) voiceEvent()             {}
func (Abandoned) voiceEvent()          {}
func (PreviewRendered) voiceEvent()    {}
func (PreviewInvalidated) voiceEvent() {}
