package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web"
)

// Failures caused by a client's disconnection are not errors of the service.
func TestADisconnectionIsNotAnError(t *testing.T) {
	failures := map[string]func(ctx context.Context) error{
		"its context": func(ctx context.Context) error { return fmt.Errorf("waiting: %w", ctx.Err()) },
		"its worker":  func(context.Context) error { return errors.New("the job was cancelled") },
		"its log": func(context.Context) error {
			return domain.Refuse(domain.Unavailable, "The event store does not answer")
		},
		"its deadline": func(context.Context) error { return context.DeadlineExceeded },
		"several parts": func(ctx context.Context) error {
			return errors.Join(ctx.Err(),
				errors.New("the encoder is closed"))
		},
	}
	for name, fail := range failures {
		for _, streamed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, streamed %v", name, streamed), func(t *testing.T) {
				began := make(chan struct{})
				ended := make(chan web.Observation, 1)
				wait := func(ctx context.Context) error {
					close(began)
					<-ctx.Done()
					return fail(ctx)
				}
				s := start(t, web.Config{Observe: func(o web.Observation) { ended <- o }, Routes: []web.Route{
					web.Post("/speak", func(call *web.Call, _ none) (web.Reply, error) {
						if !streamed {
							return web.Reply{}, wait(call)
						}
						return web.Stream("audio/mpeg", func(ctx context.Context, _ io.Writer) error { return wait(ctx) }), nil
					}, web.Public()),
				}})
				conn := s.sendRaw(t, "POST /speak HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
				<-began
				require.NoError(t, conn.Close())
				select {
				case observed := <-ended:
					require.Equal(t, 499, observed.Status)
				case <-time.After(time.Minute):
					require.Fail(t, "the request does not end")
				}
				require.NotContains(t, s.logs.String(), `"level":"ERROR"`)
			})
		}
	}
}
