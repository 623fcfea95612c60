package readmodel

// Alerts is the read model of what a person should look at.
var Alerts = Model{Name: "alerts", Version: 1}

// AlertsView has a row for each alert that is open.
var AlertsView = View{Model: Alerts, Name: "alerts", Columns: []Column{
	{"alert_id", Text},
	{"source", Text},
	{"subject", Text},
	{"reason", Text},
	{"since", Timestamptz},
	{"lasting", Bool}, // it is that of a condition, which clears it by itself
}}
