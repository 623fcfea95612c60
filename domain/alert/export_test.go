package alert

// Sentences are the sentences of alerts, by reason.
var Sentences = sentences
