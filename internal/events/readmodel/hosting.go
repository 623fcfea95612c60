package readmodel

// Hosting is the read model of pending changes at the hosting platform.
var Hosting = Model{Name: "hosting", Version: 1}

// ToDoCompleteVariableView lists the variables that are being set or removed, due when no request can still be working
// on them. An item is the hash of the variable's key; its cause is the event that began it.
var ToDoCompleteVariableView = NewToDo(Hosting, "todo_complete_variable")
