package stream

import _ "embed"

// protocol is part of the description of the interface, because OpenAPI cannot describe WebSockets.
//
//go:embed protocol.md
var protocol string
