package readmodel

// ToDoColumns returns the columns of a to-do list.
func ToDoColumns() []Column {
	return []Column{{"item", Text}, {"stream", Text}, {"due_at", Timestamptz}, {"cause", Text}}
}
