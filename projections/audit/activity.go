package audit

import (
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/domain/star"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

func ofVoice(event any) entry {
	e := entry{area: readmodel.AuditActivity}
	switch v := event.(type) {
	case voice.Created:
		e.of(v.Account, "Account %s wants voice %s of type %s (recordings: %d)",
			v.Account, v.Voice, v.Type, len(v.Recordings))
		e.personal = profileOf(v.Voice, v.Sealed)
	case voice.Changed:
		e.of(v.Account, "What account %s says about its voice %s was changed", v.Account, v.Voice)
		e.personal = profileOf(v.Voice, v.Sealed)
	case voice.Ready:
		e.of(v.Account, "Voice %s of account %s can speak", v.Voice, v.Account)
	case voice.Broken:
		e.of(v.Account, "No voice could be made of the recordings of voice %s of account %s: %s",
			v.Voice, v.Account, v.Reason)
	case voice.Cancelled:
		e.of(v.Account, "Voice %s of account %s was deleted before it could speak", v.Voice, v.Account)
	case voice.Deleted:
		e.of(v.Account, "Voice %s of account %s was deleted", v.Voice, v.Account)
	case voice.Erased:
		e.of(v.Account, "The recordings of voice %s of account %s, and what was made of them, were erased",
			v.Voice, v.Account)
	case voice.Abandoned:
		e.of(v.Account, "Voice %s of account %s was never made, because its request was cut short", v.Voice, v.Account)
	case voice.PreviewInvalidated:
		e.of(v.Account, "The preview of voice %s of account %s is to be rendered again", v.Voice, v.Account)
	case star.Starred:
		e.of(v.Account, "Account %s starred voice %s", v.Account, v.Voice)
	case star.Unstarred:
		e.of(v.Account, "Account %s has voice %s starred no more", v.Account, v.Voice)
		e.routine = true // recitald removes the stars of deleted voices
	}
	return e
}

// profileOf returns the profile of a voice, in JSON.
func profileOf(id string, sealed []byte) []readmodel.PersonalField {
	return []readmodel.PersonalField{{Name: "voice", Use: voice.SealedFor(id), Sealed: sealed}}
}

// ofClip ignores saved clips: they belong to syntheses, which have no entries either.
func ofClip(event any) entry {
	c, deleted := event.(clip.Deleted)
	if !deleted {
		return entry{}
	}
	e := entry{area: readmodel.AuditActivity, routine: true} // recitald deletes old clips
	e.of(c.Account, "Clip %s of account %s was deleted", c.Clip, c.Account)
	return e
}

func ofHosting(event any) entry {
	e := entry{area: readmodel.AuditActivity}
	switch h := event.(type) {
	case hosting.Connected:
		e.of(h.Account, "Account %s gave access to installation %s at the hosting platform", h.Account, h.Installation)
	case hosting.VariableBegun:
		e.of(h.Account, "API key %s of account %s is to be set in project %s at the hosting platform",
			h.Masked, h.Account, h.Project)
		e.personal = []readmodel.PersonalField{{Name: "project", Use: hosting.SealedForName(h.Hash), Sealed: h.SealedName}}
	case hosting.VariableSet:
		e.of(h.Account, "The hosting platform has variable %s of account %s", h.Variable, h.Account)
	case hosting.VariableRemovalBegun:
		e.of(h.Account, "A variable of account %s is to be removed from the hosting platform, and its API key deleted",
			h.Account)
	case hosting.VariableRemoved:
		e.of(h.Account, "A variable of account %s was removed from the hosting platform, and its API key deleted", h.Account)
		if h.Left {
			e.of(h.Account, "The API key of a variable of account %s was deleted; "+
				"the hosting platform, which grants no access any more, may have the variable still", h.Account)
		}
	case hosting.Ended:
		e.of(h.Account, "Nothing of account %s is left at the hosting platform, because it is closed", h.Account)
	}
	return e
}
