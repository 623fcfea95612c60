package readmodel

// Clips is the read model of saved clips. What was said stays sealed.
var Clips = Model{Name: "clips", Version: 1}

// ClipsView has a row for each clip that was not deleted.
var ClipsView = View{Clips, "clips", []Column{
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
