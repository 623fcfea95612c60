package main_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/fasthttp/websocket"
)

// socketChecker checks sockets: acknowledged flushes are synthesised and billed, and only sent text is billed.
type socketChecker struct{ *usageChecker }

func newSocketChecker(at *server, v stormClient) socketChecker {
	return socketChecker{newUsageCheckerOn("pro", at, v)}
}

// work opens a session of a few flushes.
func (p socketChecker) work(at *server, r *rand.Rand) error {
	ctx, cancel := context.WithTimeout(context.Background(), stormPatience)
	defer cancel()
	ws, _, err := websocket.DefaultDialer.DialContext(ctx,
		"ws"+strings.TrimPrefix(at.address, "http")+"/v1/ai/speech/stream", nil)
	if err != nil {
		p.outcomes["not connected"]++
		return nil
	}
	defer ws.Close()
	k := &talk{ws: ws}
	outcome, err := p.converse(k, r)
	p.outcomes[outcome]++
	return err
}

// converse returns the outcome of the session. An error is a broken promise.
func (p socketChecker) converse(k *talk, r *rand.Rand) (outcome string, err error) {
	if k.ws.WriteJSON(order{"X-API-Key": p.c.key, "lmnt-version": "1.1", "voice": "leah", "format": "pcm_s16le"}) != nil {
		return "cut", nil
	}
	if kind, _ := k.frame(); kind != "ready" {
		return "not opened", p.requireKeyKept(k)
	}
	for range 1 + r.IntN(3) {
		if !p.flush(k, prose(20+r.IntN(200)), r) {
			return "cut", p.requireKeyKept(k)
		}
		if len(k.sound) == 0 {
			return "silent", fmt.Errorf("a flush of %s is acknowledged without audio", p.c.id)
		}
		k.sound = nil
	}
	if k.ws.WriteJSON(order{"type": "finish"}) != nil {
		return "cut", nil
	}
	for {
		if _, err := k.frame(); websocket.IsCloseError(err, websocket.CloseNormalClosure) {
			return "whole", nil
		} else if err != nil {
			return "cut", nil // after all acknowledgements
		}
	}
}

// flush sends a text in pieces with a flush, and reports whether it was acknowledged. From the first piece on the text
// may be billed.
func (p socketChecker) flush(k *talk, text string, r *rand.Rand) bool {
	runes := []rune(text)
	characters := int64(len(runes))
	p.possible += characters
	pieces := 1 + r.IntN(5)
	for i := range pieces {
		piece := string(runes[i*len(runes)/pieces : (i+1)*len(runes)/pieces])
		if k.ws.WriteJSON(order{"type": "text", "text": piece}) != nil {
			return false
		}
	}
	if k.ws.WriteJSON(order{"type": "flush", "nonce": 1}) != nil {
		return false
	}
	kind := "audio"
	for kind == "audio" {
		kind, _ = k.frame()
	}
	if kind != "flush_complete" {
		return false
	}
	p.possible -= characters
	p.sure += characters
	return true
}

// frame is take with the patience of a storm.
func (k *talk) frame() (kind string, err error) { return k.takeWithin(stormPatience) }

// requireKeyKept returns an error if the session's valid key was refused.
func (p socketChecker) requireKeyKept(k *talk) error {
	if k.fault == "authentication_error" {
		return fmt.Errorf("the key of %s was refused on a socket", p.c.id)
	}
	return nil
}

func (p socketChecker) String() string { return "sockets, " + p.usageChecker.String() }
