package readmodel

import (
	"time"

	"github.com/recital-tts/recital/internal/events/feed/table"
)

// ToDoRow is an item of a to-do list.
type ToDoRow struct {
	Item   string    `col:"item,key"`
	Stream string    `col:"stream"`
	Due    time.Time `col:"due_at"`
	Cause  string    `col:"cause"` // id of an event or a command
}

// ToDo is a to-do list.
type ToDo = ViewOf[ToDoRow]

// NewToDo returns the to-do list of a name, with a table of its own.
func NewToDo(m Model, name string) ToDo {
	return Show(m, table.Of[ToDoRow](name).Index(name+"_due", "due_at"))
}

// ToDoFrom returns the to-do list of a name that a query of other tables makes up.
func ToDoFrom(m Model, name, query string) ToDo {
	return ToDo{View: View{Model: m, Name: name, Columns: ToDoColumns(), Select: query}}
}

// ToDoColumns returns the columns of a to-do list.
func ToDoColumns() []Column {
	return []Column{{"item", Text}, {"stream", Text}, {"due_at", Timestamptz}, {"cause", Text}}
}
