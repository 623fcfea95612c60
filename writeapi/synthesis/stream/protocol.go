package stream

import _ "embed"

// protocol is told by the description of the interface, which has no words of its own for WebSockets.
//
//go:embed protocol.md
var protocol string
