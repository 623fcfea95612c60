package catalog_test

import (
	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/eventlog"
)

// example is the value that a golden file decodes to today. For the newest version the file was written from it.
type example struct {
	name    string
	version int
	event   any
}

var examples = []example{
	{"log-opened", 1, eventlog.LogOpened{LogID: uuid.MustParse("0190b0c0-1111-7000-8000-00000000000a"), Epoch: 3}},
}
