package alert

// Sentences are what alerts say, by their reasons.
var Sentences = sentences

// Advices are what to do, by the reasons of alerts.
var Advices = advices
