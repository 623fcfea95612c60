// Package noticestest is the contract suite that every notices.Sender of a server passes.
package noticestest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/notices"
)

// Behaviour is a server's treatment of messages.
type Behaviour string

// The behaviours.
const (
	Takes   Behaviour = "takes"
	Refuses Behaviour = "refuses" // for good
	Delays  Behaviour = "delays"  // asks to send it later
	Hangs   Behaviour = "hangs"
	Away    Behaviour = "away" // does not listen
)

// Received is a message that the server has accepted.
type Received struct {
	ID, To, Subject, Body string
	Headers               int // of the message
}

// Server is a real server that is controlled by a test.
type Server struct {
	mu       sync.Mutex
	behave   Behaviour
	received []Received
	closed   chan struct{}
}

// NewServer returns the common part of servers for tests. It accepts messages.
func NewServer(t testing.TB) *Server {
	s := &Server{behave: Takes, closed: make(chan struct{})}
	t.Cleanup(func() { close(s.closed) })
	return s
}

// Behave sets the treatment of future messages.
func (s *Server) Behave(b Behaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behave = b
}

// Now returns the treatment of a message. While the server hangs, it blocks.
func (s *Server) Now() Behaviour {
	s.mu.Lock()
	b := s.behave
	s.mu.Unlock()
	if b == Hangs {
		<-s.closed
	}
	return b
}

// Take records a message.
func (s *Server) Take(r Received) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = append(s.received, r)
}

// Received returns the accepted messages.
func (s *Server) Received() []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Received(nil), s.received...)
}

// Open starts a server and returns it with a sender to it. A call of the sender takes at most the time given.
type Open func(t *testing.T, timeout time.Duration) (*Server, notices.Sender)

const (
	// patience bounds operations that should succeed, even on a busy machine, and short those that should time out.
	patience = time.Minute
	short    = 300 * time.Millisecond
)

func message() notices.Message {
	return notices.Message{
		ID: "0190b0c0-1111-7000-8000-00000000000a", Kind: "usage", Account: "a1", To: "ada@example.com",
		Subject: "80 % of your characters are used", Body: "Hello Ada,\n.\nyou have used 80 %.\n",
		At: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC), Data: map[string]string{"percent": "80"},
	}
}

// Run runs the suite. away returns a sender to a server that does not listen.
func Run(t *testing.T, open Open, away func(t *testing.T) notices.Sender) {
	t.Run("a message arrives", func(t *testing.T) { arrives(t, open) })
	t.Run("the same message has the same id", func(t *testing.T) { repeated(t, open) })
	t.Run("nothing is injected", func(t *testing.T) { injected(t, open) })
	t.Run("huge values arrive", func(t *testing.T) { huge(t, open) })
	t.Run("many at once", func(t *testing.T) { atOnce(t, open) })
	for behaviour, want := range map[Behaviour]error{
		Refuses: notices.ErrRefused, Delays: notices.ErrLater,
	} {
		t.Run("the server "+string(behaviour), func(t *testing.T) {
			server, sender := open(t, patience)
			server.Behave(behaviour)
			require.ErrorIs(t, silent(t, sender.Send(t.Context(), message())), want)
			server.Behave(Takes)
			require.NoError(t, sender.Send(t.Context(), message()))
		})
	}
	t.Run("the server hangs", func(t *testing.T) { hangs(t, open) })
	t.Run("the caller has gone", func(t *testing.T) { gone(t, open) })
	t.Run("the server is away", func(t *testing.T) {
		require.ErrorIs(t, silent(t, away(t).Send(t.Context(), message())), notices.ErrUnavailable)
	})
}

// silent returns an error that does not name the recipient.
func silent(t *testing.T, err error) error {
	t.Helper()
	require.Error(t, err)
	require.NotContains(t, err.Error(), "ada")
	return err
}

func arrives(t *testing.T, open Open) {
	server, sender := open(t, patience)
	require.NoError(t, sender.Send(t.Context(), message()))
	all := server.Received()
	require.Len(t, all, 1)
	all[0].Headers = 0
	m := message()
	require.Equal(t, Received{ID: m.ID, To: m.To, Subject: m.Subject, Body: m.Body}, all[0])
}

func repeated(t *testing.T, open Open) {
	server, sender := open(t, patience)
	require.NoError(t, sender.Send(t.Context(), message()))
	require.NoError(t, sender.Send(t.Context(), message()))
	all := server.Received()
	require.Len(t, all, 2)
	require.Equal(t, all[0], all[1])
}

// injected sends values that would add a header or a recipient if lines were not escaped.
func injected(t *testing.T, open Open) {
	server, sender := open(t, patience)
	require.NoError(t, sender.Send(t.Context(), message()))
	evil := message()
	evil.Subject = "Hello\r\nBcc: eve@example.com\r\n\r\nbody"
	evil.Body = "a\r\n.\r\nMAIL FROM:<eve@example.com>\r\n"
	require.NoError(t, sender.Send(t.Context(), evil))
	evil.To = "ada@example.com>\r\nRCPT TO:<eve@example.com"
	if err := sender.Send(t.Context(), evil); err != nil {
		require.ErrorIs(t, silent(t, err), notices.ErrRefused)
	}
	all := server.Received()
	require.Equal(t, all[0].Headers, all[1].Headers)
	require.Equal(t, message().To, all[1].To)
	require.Contains(t, all[1].Body, "MAIL FROM")
}

func huge(t *testing.T, open Open) {
	server, sender := open(t, patience)
	m := message()
	m.Subject = strings.Repeat("Zeichen für Zeichen ", 100)
	m.Body = strings.Repeat(strings.Repeat("ж", 5000)+"\n", 20)
	require.NoError(t, sender.Send(t.Context(), m))
	all := server.Received()
	require.Len(t, all, 1)
	require.Equal(t, strings.TrimSpace(m.Subject), strings.TrimSpace(all[0].Subject))
	require.Equal(t, m.Body, all[0].Body)
}

func atOnce(t *testing.T, open Open) {
	server, sender := open(t, patience)
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			m := message()
			m.ID = fmt.Sprintf("0190b0c0-1111-7000-8000-%012d", i)
			assert.NoError(t, sender.Send(t.Context(), m))
		})
	}
	group.Wait()
	ids := map[string]bool{}
	for _, one := range server.Received() {
		ids[one.ID] = true
	}
	require.Len(t, ids, 20)
}

func hangs(t *testing.T, open Open) {
	server, sender := open(t, short)
	server.Behave(Hangs)
	err := silent(t, sender.Send(t.Context(), message()))
	require.True(t, errors.Is(err, notices.ErrLater) || errors.Is(err, notices.ErrUnavailable), err)
}

func gone(t *testing.T, open Open) {
	server, sender := open(t, patience)
	server.Behave(Hangs)
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	begun := time.Now()
	silent(t, sender.Send(ctx, message()))
	require.Less(t, time.Since(begun), patience/2)
}
