package alert

// Sentences has the words of alerts, by reason.
var Sentences = words
