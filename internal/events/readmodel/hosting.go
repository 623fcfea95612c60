package readmodel

// Hosting is the read model of what is to be done at the hosting platform.
var Hosting = Model{Name: "hosting", Version: 1}

// ToDoCompleteVariableView is the to-do list of the variables that are being set or removed, due when nobody can be at work on
// them any more. An item is the hash of the variable's key; its cause is the event that has begun it.
var ToDoCompleteVariableView = View{Model: Hosting, Name: "todo_complete_variable", Columns: ToDoColumns()}
