package stripe

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/recital-tts/recital/internal/process/pause"
)

// patience bounds the wait of a request for the rate limit, if its context does not.
const patience = 15 * time.Second

// transport sends requests to the provider at the rate of its queue. A request that the provider refuses because of too
// many is repeated after a pause.
type transport struct {
	next    http.RoundTripper
	queue   *queue
	timeout time.Duration // of one attempt, without its waiting
}

// RoundTrip implements http.RoundTripper. The answer is a refusal if there is no time for another attempt.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ends, pauses := endOf(r.Context()), growing()
	for {
		if after := t.queue.wait(r, ends); after > 0 {
			return refuse(r, after, nil), nil
		}
		response, err := t.attempt(r)
		if err != nil || response.StatusCode != http.StatusTooManyRequests {
			return response, err
		}
		after := max(retryAfter(response.Header), pauses.NextBackOff())
		if time.Now().Add(after).After(ends) || pause.For(r.Context(), after) != nil {
			return refuse(r, after, response.Header), nil
		}
		if r, err = again(r); err != nil {
			return nil, err
		}
	}
}

// endOf returns the time until which a request may wait.
func endOf(ctx context.Context) time.Time {
	ends := time.Now().Add(patience)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(ends) {
		return deadline
	}
	return ends
}

// growing returns the pauses between attempts. They are randomised, so that refused requests do not arrive together
// again.
func growing() *backoff.ExponentialBackOff {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 250*time.Millisecond, 4*time.Second
	return pauses
}

// attempt sends a request and reads its answer.
func (t *transport) attempt(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), t.timeout)
	defer cancel()
	response, err := t.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the payment provider's answer: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// refuse returns the answer to a request that cannot be sent in time, or for a proxy's refusal, in the form of the API.
func refuse(r *http.Request, after time.Duration, header http.Header) *http.Response {
	given := http.Header{"Retry-After": {strconv.Itoa(int(math.Ceil(after.Seconds())))}}
	if id := header.Get("Request-Id"); id != "" {
		given.Set("Request-Id", id)
	}
	return &http.Response{
		Status: "429 Too Many Requests", StatusCode: http.StatusTooManyRequests, Request: r, Header: given,
		Body: io.NopCloser(strings.NewReader(`{"error":{"type":"invalid_request_error","code":"rate_limit"}}`)),
	}
}

// again returns a request with its body from the beginning.
func again(r *http.Request) (*http.Request, error) {
	if r.GetBody == nil {
		return r, nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	repeated := r.Clone(r.Context())
	repeated.Body = body
	return repeated, nil
}

// retryAfter returns the pause that a refusal requests, or 0.
func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Duration(max(seconds, 0)) * time.Second
}
