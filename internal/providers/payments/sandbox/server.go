package sandbox

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/form"
	"github.com/recital-tts/recital/internal/providers/payments/sandbox/store"
)

const (
	maxRequest = 1 << 20
	longestKey = 255
)

// operation answers one request. What it changed is undone if it fails.
type operation func(*work) (any, error)

// reply is what a client gets.
type reply struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

// call is a request to the API.
type call struct {
	id        string
	path      string // of the object, in the URL
	key       string // that makes it idempotent, or ""
	content   string // stands for all that a repetition must share with it
	values    url.Values
	operation operation
	spoiled   bool                // it is answered as if it had failed
	lasting   []func(*work) error // what stays done if the rest is undone
}

func (s *Sandbox) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, o := range operations() {
		mux.Handle(pattern, s.api(o))
	}
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		respond(w, failure(&problem{
			status: http.StatusNotFound, Type: "invalid_request_error",
			Message: fmt.Sprintf("Unrecognized request URL (%s: %s).", r.Method, r.URL.Path),
		}))
	})
	mux.Handle("/sandbox/", s.guarded(http.StripPrefix("/sandbox", s.Control())))
	mux.Handle("/pages/", http.StripPrefix("/pages", s.pages()))
	return mux
}

// api serves an operation.
func (s *Sandbox) api(o operation) http.Handler {
	return s.guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := readCall(w, r)
		if err != nil {
			respond(w, failure(invalid("", "", "The request cannot be read: %v", err)))
			return
		}
		c.operation = o
		w.Header().Set("Request-Id", c.id)
		w.Header().Set("Stripe-Version", APIVersion)
		s.faulty(w, r, c)
	}))
}

// guarded serves requests that carry the key.
func (s *Sandbox) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if user, _, ok := r.BasicAuth(); ok {
			given = user
		}
		if subtle.ConstantTimeCompare([]byte(given), []byte(s.config.Key)) != 1 {
			respond(w, failure(&problem{status: http.StatusUnauthorized, Type: "invalid_request_error", Message: "Invalid API Key provided"}))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func readCall(w http.ResponseWriter, r *http.Request) (*call, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	for name, v := range r.URL.Query() {
		values[name] = append(values[name], v...)
	}
	c := &call{id: "req_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:14], path: r.PathValue("id"), values: values}
	if r.Method == http.MethodPost {
		if c.key = r.Header.Get("Idempotency-Key"); len(c.key) > longestKey {
			return nil, errors.New("its idempotency key is longer than 255 characters")
		}
		sum := sha256.Sum256([]byte(r.URL.Path + "?" + values.Encode()))
		c.content = hex.EncodeToString(sum[:])
	}
	return c, nil
}

// answer answers a call: as before if it has been made before.
func (s *Sandbox) answer(header http.Header, c *call) reply {
	if c.key == "" {
		return s.perform(c)
	}
	if !s.running.begin(c.key) {
		return failure(&problem{
			status: http.StatusConflict, Type: "idempotency_error", Code: "idempotency_key_in_use",
			Message: "There is currently another in-progress request using this Idempotent Key",
		})
	}
	defer s.running.end(c.key)
	earlier, err := s.remembered(c)
	switch {
	case err != nil:
		return failure(err)
	case earlier != nil:
		header.Set("Idempotent-Replayed", "true")
		return *earlier
	}
	return s.perform(c)
}

// perform carries out a call. Its answer is remembered together with what it changed, or alone if that was undone.
func (s *Sandbox) perform(c *call) reply {
	var given reply
	err := s.store.Update(func(tx *store.Tx) error {
		var err error
		if given, err = s.operate(tx, c); err != nil {
			return err
		}
		if c.spoiled {
			given = failure(errSpoiled())
		}
		return s.remember(tx, c, given)
	})
	s.deliveries.wake()
	if err == nil {
		return given
	}
	given = failure(err)
	if given.Status != http.StatusPaymentRequired { // what was invalid or failed here is not remembered
		return given
	}
	if err := s.store.Update(func(tx *store.Tx) error { return s.afterwards(tx, c, given) }); err != nil {
		return failure(err)
	}
	return given
}

// afterwards keeps what stays of a call that was undone.
func (s *Sandbox) afterwards(tx *store.Tx, c *call, given reply) error {
	w := s.work(tx)
	for _, do := range c.lasting {
		if err := do(w); err != nil {
			return err
		}
	}
	return s.remember(tx, c, given)
}

func (s *Sandbox) operate(tx *store.Tx, c *call) (reply, error) {
	w := s.work(tx)
	w.id, w.form, w.lasting = c.path, form.Parse(c.values), &c.lasting
	w.request = eventRequest{ID: text(c.id), IdempotencyKey: text(c.key)}
	expand := w.form.Strings("expand")
	o, err := c.operation(w)
	if invalid := w.form.Err(); invalid != nil { // says more than what came of it
		return reply{}, invalid
	}
	if err != nil {
		return reply{}, err
	}
	if err := w.form.Unread(); err != nil {
		return reply{}, err
	}
	status := http.StatusOK
	if p, ok := o.(*problem); ok {
		status, o, expand = p.status, map[string]*problem{"error": p}, nil
	}
	rendered, err := w.render(o, expand)
	if err != nil {
		return reply{}, err
	}
	body, err := json.Marshal(rendered)
	return reply{Status: status, Body: body}, err
}

// failure returns the reply to an error.
func failure(err error) reply {
	var p *problem
	var field *form.Problem
	switch {
	case errors.As(err, &field):
		p = invalid(field.Code, field.Param, "%s", field.Message)
	case !errors.As(err, &p):
		p = &problem{status: http.StatusInternalServerError, Type: "api_error", Message: err.Error()}
	}
	body, err := json.Marshal(map[string]*problem{"error": p})
	if err != nil {
		return reply{Status: http.StatusInternalServerError}
	}
	return reply{Status: p.status, Body: body}
}

func respond(w http.ResponseWriter, r reply) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body) // the client has left
}
