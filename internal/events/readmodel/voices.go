package readmodel

// Voices is the read model of accounts' voices, of stars, and of what is to be done for voices.
var Voices = Model{Name: "voices", Version: 1}

// VoicesView has a row for each voice of an account that was not deleted. An index lists those of an account in the
// order of created_at and voice_id.
var VoicesView = View{Model: Voices, Name: "voices", Columns: []Column{
	{"voice_id", Text},
	{"account_id", Text},
	{"type", Text},
	{"state", Text},
	{"reason", Text}, // why it is broken, for its owner; empty if it is not
	{"sealed", Bytea},
	{"created_at", Timestamptz},
	{"starred", Bool}, // by its owner
}}

// StarsView has a row for each voice that an account has starred, of its own or of the system's.
var StarsView = View{Model: Voices, Name: "stars", Columns: []Column{
	{"account_id", Text},
	{"voice_id", Text},
}}

// VoiceCountsView has a row for each account that has, or has had, voices: how many places of its plan they take.
var VoiceCountsView = View{Model: Voices, Name: "voice_counts", Columns: []Column{
	{"account_id", Text},
	{"instant", Bigint},
	{"professional", Bigint},
}}

// The to-do lists of voices. An item is the voice; its cause is the event that has led to it.
var (
	// ToDoSettleVoicePlaceView has the places whose voices were not created, due when no request can be creating them.
	ToDoSettleVoicePlaceView = ToDoFrom(Voices, "todo_settle_voice_place", "")
	// ToDoPrepareVoiceView has the voices that are preparing.
	ToDoPrepareVoiceView = ToDoFrom(Voices, "todo_prepare_voice", "")
	// ToDoTrainVoiceView has the voices that are pending or training.
	ToDoTrainVoiceView = ToDoFrom(Voices, "todo_train_voice", "")
	// ToDoRenderVoicePreviewView has the voices that are ready and have no preview.
	ToDoRenderVoicePreviewView = ToDoFrom(Voices, "todo_render_voice_preview", "")
	// ToDoEraseVoiceView has the voices that were deleted and not erased.
	ToDoEraseVoiceView = ToDoFrom(Voices, "todo_erase_voice", "")
)
