package webhook

// Signature returns the signature of a webhook.
var Signature = signature
