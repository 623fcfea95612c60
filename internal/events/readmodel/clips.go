package readmodel

// Clips is the read model of saved clips. What was said stays sealed. Version 2 counts clips, and knows
// whose account was closed.
var Clips = Model{Name: "clips", Version: 2}

// ClipsView has a row for each clip that was not deleted.
var ClipsView = View{Model: Clips, Name: "clips", Columns: []Column{
	{"clip_id", Text},
	{"account_id", Text},
	{"voice", Text},
	{"language", Text},
	{"speed", Double},
	{"characters", Bigint},
	{"debug", Bool},
	{"saved_at", Timestamptz},
	{"blob", Text},
	{"bytes", Bigint},
	{"media_type", Text},
	{"sealed", Bytea},
	{"sealed_for", Text},
}}

// ClipsByTimeView, ClipsByLengthView and ClipsByVoiceView have a row for each range of an account's clips in their
// order (the columns between account_id and language), each language and debug in it. A range begins at the clip that
// these columns name, which may be deleted, and has at most 4,000 clips.
var (
	ClipsByTimeView = View{Model: Clips, Name: "clips_by_time", Columns: []Column{
		{"account_id", Text},
		{"saved_at", Timestamptz}, // -infinity in the first range
		{"clip_id", Text},
		{"language", Text},
		{"debug", Bool},
		{"clips", Bigint},
	}}
	ClipsByLengthView = View{Model: Clips, Name: "clips_by_length", Columns: []Column{
		{"account_id", Text},
		{"characters", Bigint},
		{"saved_at", Timestamptz}, // as in ClipsByTimeView
		{"clip_id", Text},
		{"language", Text},
		{"debug", Bool},
		{"clips", Bigint},
	}}
	ClipsByVoiceView = View{Model: Clips, Name: "clips_by_voice", Columns: []Column{
		{"account_id", Text},
		{"voice", Text},
		{"saved_at", Timestamptz}, // as in ClipsByTimeView
		{"clip_id", Text},
		{"language", Text},
		{"debug", Bool},
		{"clips", Bigint},
	}}
)

// ToDoEraseClipsView is the to-do list of the closed accounts that have clips. An item is the account; its cause is the
// event that closed it.
var ToDoEraseClipsView = ToDoFrom(Clips, "todo_erase_clips", "")
