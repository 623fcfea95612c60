package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fasthttp/websocket"
)

// converse executes a request over a socket, in one of the three dialects.
func (e soakRequest) converse() outcome {
	o := outcome{soakRequest: e, most: e.characters()}
	var conn *net.TCPConn
	dialer := websocket.Dialer{NetDialContext: func(context.Context, string, string) (net.Conn, error) {
		var err error
		conn, err = e.connect()
		return conn, err
	}}
	ws, _, err := dialer.Dial("ws"+strings.TrimPrefix(e.customer.server.address, "http")+"/v1/ai/speech/stream", nil)
	if err != nil {
		o.result = "not connected"
		return o
	}
	defer conn.Close()
	script := e.script()
	said := make(chan struct{})
	go func() {
		defer close(said)
		for _, line := range script {
			if ws.WriteJSON(line.message) != nil {
				return // the reader learns the reason
			}
		}
		if e.manner == closesHalf {
			_ = conn.CloseWrite()
		}
	}()
	o = e.listen(ws, conn, script, o)
	_ = conn.Close()
	<-said
	return o
}

// listen reads the session until its end or until the client disconnects.
func (e soakRequest) listen(ws *websocket.Conn, conn *net.TCPConn, script []line, o outcome) outcome {
	if e.manner == impatient {
		<-time.After(e.patience)
		o.result = hungUp
		return o
	}
	heard, trouble := 0, false
	for {
		kind, message, err := ws.ReadMessage()
		if err != nil {
			return o.closed(err, trouble)
		}
		if kind == websocket.BinaryMessage {
			heard += len(message)
		} else {
			if !e.takesBack {
				o.least = max(o.least, acknowledged(message, script))
			}
			trouble = trouble || strings.Contains(string(message), `"error"`)
		}
		switch {
		case heard > e.bytes && e.manner == resets:
			_ = conn.SetLinger(0)
			fallthrough
		case heard > e.bytes && e.manner == leaves:
			o.result = hungUp
			return o
		case e.manner == slow && heard < 200_000:
			<-time.After(time.Millisecond)
		}
	}
}

// closed returns the outcome of an ended session. After a clean end only text that the client dropped may be missing.
func (o outcome) closed(err error, told bool) outcome {
	var end *websocket.CloseError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		o.result = stuck
	case errors.As(err, &end) && end.Code == websocket.CloseNormalClosure:
		o.result = whole
		if !o.takesBack {
			o.least = o.most
		}
	case o.manner == closesHalf:
		o.result = hungUp
	case told && errors.As(err, &end) && (end.Code == websocket.CloseProtocolError ||
		end.Code == websocket.ClosePolicyViolation):
		o.result = refused
		if o.manner == wrong {
			o.most = 0
		}
	default:
		o.result = cut
	}
	return o
}

// line is a message of a client, and the number of characters that it has sent by then.
type line struct {
	message order
	nonce   int64 // 0 if no acknowledgement follows
	said    int64
}

// script returns all messages of a client, from its first to the last.
func (e soakRequest) script() (script []line) {
	opening := order{"X-API-Key": e.customer.key}
	for name, value := range e.order {
		opening[name] = value
	}
	switch e.way {
	case "socket A":
		opening["send_extras"] = e.deletes
	case "socket B":
		opening["protocol_version"], opening["return_extras"] = 2, e.deletes
	default:
		opening["lmnt-version"], opening["return_timestamps"] = "1.1", e.deletes
	}
	script = append(script, line{message: opening})
	said, nonce := int64(0), int64(0)
	for i, piece := range e.pieces {
		said += int64(utf8.RuneCountInString(piece))
		script = append(script, line{message: e.word("text", piece, 0)})
		if i%5 == 4 {
			nonce++
			script = append(script, line{e.word("flush", "", nonce), nonce, said})
		}
		if i%7 == 6 && e.takesBack && e.way != "socket A" { // dialect A has no reset
			nonce++
			script = append(script, line{message: e.word("reset", "", nonce)})
		}
	}
	return append(script, line{message: e.word("finish", "", 0)})
}

// word returns a message in the client's dialect.
func (e soakRequest) word(what, text string, nonce int64) order {
	switch {
	case what == "text" && e.way == "socket C":
		return order{"type": "text", "text": text}
	case what == "text":
		return order{"text": text}
	case e.way == "socket A":
		return order{map[string]string{"flush": "flush", "finish": "eof"}[what]: true}
	case e.way == "socket B" && what == "finish":
		return order{"command": "eof"}
	case e.way == "socket B":
		return order{"command": what, "nonce": nonce}
	case what == "finish":
		return order{"type": "finish"}
	default:
		return order{"type": what, "nonce": nonce}
	}
}

// acknowledged returns the number of characters that are certain to be counted: those before a flush that the server
// has acknowledged. A client that drops text may have dropped what it had flushed.
func acknowledged(message []byte, script []line) (characters int64) {
	var frame struct {
		Type     string `json:"type"`
		Complete string `json:"complete"`
		Nonce    int64  `json:"nonce"`
	}
	if json.Unmarshal(message, &frame) != nil || frame.Type != "flush_complete" && frame.Complete != "flush" {
		return 0
	}
	for _, l := range script {
		if l.nonce == frame.Nonce && l.nonce > 0 {
			return l.said
		}
	}
	return 0
}
