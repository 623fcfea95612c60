package readmodel

import (
	"time"

	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

// Voices is the read model of accounts' voices, of stars, and of pending work on voices.
var Voices = Model{Name: "voices", Version: 1}

// VoiceRow is an existing voice of an account.
type VoiceRow struct {
	Voice     string      `col:"voice_id,key"`
	Account   string      `col:"account_id"`
	Type      voice.Type  `col:"type"`
	Phase     voice.Phase `col:"state"`
	Reason    string      `col:"reason"` // why it is broken, for its owner; empty if it is not
	Sealed    []byte      `col:"sealed"`
	CreatedAt time.Time   `col:"created_at"`
	Starred   bool        `col:"starred" sql:""` // by its owner
}

// VoicesView shows all voices. An index lists an account's voices by created_at and voice_id.
var VoicesView = Show(Voices, table.Of[VoiceRow]("voices").
	Expression("starred", `exists (
		select from stars s where s.account_id = voices.account_id and s.voice_id = voices.voice_id)`).
	Index("voices_of_account", "account_id", "created_at", "voice_id"))

// StarRow is a voice that an account has starred, its own or the system's.
type StarRow struct {
	Account string `col:"account_id,key"`
	Voice   string `col:"voice_id,key"`
}

// StarsView shows all stars.
var StarsView = Show(Voices, table.Of[StarRow]("stars"))

// VoiceStep is the next step of a voice, named after the process that takes it.
type VoiceStep string

// The steps of voices.
const (
	StepSettlePlace   VoiceStep = "settle_voice_place"
	StepPrepare       VoiceStep = "prepare_voice"
	StepTrain         VoiceStep = "train_voice"
	StepRenderPreview VoiceStep = "render_voice_preview"
	StepErase         VoiceStep = "erase_voice"
)

// VoiceStepRow is the next step of a voice. A voice has at most one.
type VoiceStepRow struct {
	Voice  string    `col:"voice_id,key"`
	Step   VoiceStep `col:"step"`
	Stream string    `col:"stream"` // of the event that led to it
	Due    time.Time `col:"due_at"`
	Cause  string    `col:"cause"` // id of that event
}

// VoiceSteps is the table behind the to-do lists of voices.
var VoiceSteps = table.Of[VoiceStepRow]("steps").Index("steps_due", "step", "due_at")

// The to-do lists of voices. An item is the voice; its cause is the event that led to it.
var (
	// ToDoSettleVoicePlaceView lists the places without a created voice, due when no request can still be creating
	// one.
	ToDoSettleVoicePlaceView = stepList(StepSettlePlace)
	// ToDoPrepareVoiceView lists the voices that are preparing.
	ToDoPrepareVoiceView = stepList(StepPrepare)
	// ToDoTrainVoiceView lists the voices that are pending or training.
	ToDoTrainVoiceView = stepList(StepTrain)
	// ToDoRenderVoicePreviewView lists the voices that are ready and have no preview.
	ToDoRenderVoicePreviewView = stepList(StepRenderPreview)
	// ToDoEraseVoiceView lists the voices that were deleted and not erased.
	ToDoEraseVoiceView = stepList(StepErase)
)

// stepList returns the list of the voices that have a step before them: todo_prepare_voice.
func stepList(step VoiceStep) ToDo {
	return ToDoFrom(Voices, "todo_"+string(step),
		`select voice_id as item, stream, due_at, cause from steps where step = '`+string(step)+`'`)
}
