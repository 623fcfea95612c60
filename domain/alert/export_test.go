package alert

// Sentences are what alerts say, by their reasons.
var Sentences = sentences
