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
	"time"

	"github.com/recital-tts/recital/internal/standins/sandbox/form"
)

const maxRequest = 1 << 20

// operation answers a request. If it returns an error, its changes are undone.
type operation func(*work) (any, error)

// operations returns the operations of the API by their patterns for http.ServeMux.
func operations() map[string]operation {
	return map[string]operation{
		"POST /v1/customers":        createCustomer,
		"GET /v1/customers":         listOf("", func(*work) func(*customer) bool { return (*customer).alive }),
		"GET /v1/customers/{id}":    retrieveCustomer,
		"POST /v1/customers/{id}":   ofCustomer(updateCustomer),
		"DELETE /v1/customers/{id}": ofCustomer(deleteCustomer),

		"POST /v1/products":      createProduct,
		"GET /v1/products":       listOf[product]("", nil),
		"POST /v1/products/{id}": of(updateProduct),

		"POST /v1/webhook_endpoints":        createEndpoint,
		"GET /v1/webhook_endpoints":         listOf[endpoint]("", nil),
		"POST /v1/webhook_endpoints/{id}":   of(updateEndpoint),
		"DELETE /v1/webhook_endpoints/{id}": of(deleteEndpoint),

		"POST /v1/prices":      createPrice,
		"GET /v1/prices":       listOf("", pricesOnSale),
		"POST /v1/prices/{id}": of(updatePrice),
		"GET /v1/coupons/{id}": retrieve[coupon],

		"GET /v1/payment_methods/{id}":         retrieve[paymentMethod],
		"POST /v1/payment_methods/{id}/attach": forCustomer(attachMethod),
		"POST /v1/setup_intents":               forCustomer(createSetup),
		"GET /v1/setup_intents":                listOf[setupIntent]("customer", nil),
		"GET /v1/setup_intents/{id}":           retrieve[setupIntent],

		"POST /v1/subscriptions":                       forCustomer(createSubscription),
		"GET /v1/subscriptions":                        listOf("customer", subscriptionsByStatus),
		"GET /v1/subscriptions/{id}":                   retrieve[subscription],
		"POST /v1/subscriptions/{id}":                  of(updateSubscription),
		"DELETE /v1/subscriptions/{id}":                of(cancelSubscription),
		"POST /v1/subscription_schedules":              createSchedule,
		"GET /v1/subscription_schedules/{id}":          retrieve[schedule],
		"POST /v1/subscription_schedules/{id}":         updateSchedule,
		"POST /v1/subscription_schedules/{id}/release": releaseSchedule,

		"POST /v1/invoiceitems":        forCustomer(createInvoiceItem),
		"GET /v1/invoiceitems":         listOf("customer", matchItems),
		"DELETE /v1/invoiceitems/{id}": of(deleteInvoiceItem),
		"POST /v1/invoices":            forCustomer(createInvoice),
		"GET /v1/invoices":             listOf("customer", matchInvoices),
		"GET /v1/invoices/{id}":        retrieve[invoice],
		"POST /v1/invoices/{id}/pay":   of(payInvoice),
		"POST /v1/invoices/{id}/void":  of(voidInvoice),

		"POST /v1/invoices/create_preview":          previewInvoice,
		"POST /v1/invoices/{id}/finalize":           of(finalizeInvoice),
		"POST /v1/invoices/{id}/mark_uncollectible": of(markUncollectible),

		"GET /v1/invoice_payments/{id}": retrieve[invoicePayment],
		"GET /v1/payment_intents/{id}":  retrieve[paymentIntent],
		"GET /v1/charges":               listOf[charge]("customer", nil),
		"GET /v1/refunds/{id}":          retrieve[refund],
		"GET /v1/disputes":              listOf[dispute]("charge", nil),
		"GET /v1/disputes/{id}":         retrieve[dispute],
		"GET /v1/events":                listOf("", eventsKept),
	}
}

// retrieve returns the object in the path.
func retrieve[T any, P stored[T]](w *work) (any, error) { return find[T, P](w, w.id) }

// of returns an operation on the object in the path.
func of[T any, P stored[T]](do func(*work, P) (any, error)) operation {
	return func(w *work) (any, error) {
		o, err := find[T, P](w, w.id)
		if err != nil {
			return nil, err
		}
		return do(w, o)
	}
}

// ofCustomer returns an operation on the customer in the path, which must not be deleted.
func ofCustomer(do func(*work, *customer) (any, error)) operation {
	return func(w *work) (any, error) { return w.withCustomer(w.id, do) }
}

// forCustomer returns an operation on the customer that the parameter customer names.
func forCustomer(do func(*work, *customer) (any, error)) operation {
	return func(w *work) (any, error) { return w.withCustomer(w.form.Required("customer"), do) }
}

func (w *work) withCustomer(id string, do func(*work, *customer) (any, error)) (any, error) {
	c, err := w.livingCustomer(id)
	if err != nil {
		return nil, err
	}
	return do(w, c)
}

// reply is a response of the API.
type reply struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

// call is a request to the API.
type call struct {
	path      string // the id in the URL
	key       string // idempotency key, or ""
	content   string // hash of the path and parameters, which a repetition must share
	values    url.Values
	operation operation
	spoiled   bool // it fails after it is performed
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
	// Pages need no key, as at Stripe. Their addresses are secret.
	mux.HandleFunc("GET "+cardPath+"{secret}", s.showCard)
	mux.HandleFunc("POST "+cardPath+"{secret}", s.takeCard)
	mux.HandleFunc("GET "+invoicePath+"{id}", s.showInvoice)
	return mux
}

// api returns the handler of an operation.
func (s *Sandbox) api(o operation) http.Handler {
	return s.guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := readCall(w, r)
		if err != nil {
			respond(w, failure(invalid("", "", "The request cannot be read: %v", err)))
			return
		}
		c.operation = o
		w.Header().Set("Stripe-Version", APIVersion)
		s.faulty(w, r, c)
	}))
}

// guarded serves requests with the API key.
func (s *Sandbox) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(given), []byte(s.config.Key)) != 1 {
			respond(w, failure(&problem{
				status: http.StatusUnauthorized, Type: "invalid_request_error", Message: "Invalid API Key provided",
			}))
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
	c := &call{path: r.PathValue("id"), values: values}
	if r.Method == http.MethodPost {
		c.key = r.Header.Get("Idempotency-Key")
		c.content = hash(r.URL.Path + "?" + values.Encode())
	}
	return c, nil
}

func hash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// keysKept is the time that Stripe keeps idempotency keys.
const keysKept = 24 * time.Hour

// remembered is the reply to repetitions of a request with an idempotency key.
type remembered struct {
	base
	Content string    `json:"content"`
	Reply   reply     `json:"reply"`
	Until   time.Time `json:"until"`
}

func (*remembered) kind() string { return "key" }

// answer performs a call in a transaction, or repeats its stored reply. If the card is declined, the changes are undone
// and the reply is stored. Replies to invalid calls and internal errors are not stored.
func (s *Sandbox) answer(header http.Header, c *call) (given reply) {
	err := s.store.update(func(tx *transaction) (err error) {
		w := s.work(tx)
		earlier, err := w.earlier(c)
		if err != nil {
			return err
		}
		if earlier != nil {
			header.Set("Idempotent-Replayed", "true")
			given = *earlier
			return nil
		}
		if given, err = w.perform(c); err != nil {
			tx.undo()
			if given = failure(err); given.Status != http.StatusPaymentRequired {
				return err
			}
		}
		w.remember(c, given)
		return nil
	})
	s.deliveries.wake()
	if err != nil {
		return failure(err)
	}
	return given
}

// earlier returns the stored reply to a call, or nil.
func (w *work) earlier(c *call) (*reply, error) {
	r, err := find[remembered](w, "key_"+hash(c.key))
	if c.key == "" || err != nil || !w.clock.now().Before(r.Until) {
		return nil, nil
	}
	if r.Content != c.content {
		return nil, &problem{
			status: http.StatusBadRequest, Type: "idempotency_error",
			Message: "Keys for idempotent requests can only be used with the same parameters they were first used with.",
		}
	}
	return &r.Reply, nil
}

func (w *work) remember(c *call, given reply) {
	if c.key != "" {
		w.save(&remembered{
			base: base{ID: "key_" + hash(c.key)}, Content: c.content, Reply: given, Until: w.clock.now().Add(keysKept),
		})
	}
}

func (w *work) perform(c *call) (reply, error) {
	w.id, w.form = c.path, form.Parse(c.values)
	expand := w.form.Strings("expand")
	o, err := c.operation(w)
	if invalid := w.form.Err(); invalid != nil { // a parameter error explains more than the error that follows from it
		return reply{}, invalid
	}
	if err != nil {
		return reply{}, err
	}
	if err := w.form.Unread(); err != nil {
		return reply{}, err
	}
	if c.spoiled {
		return failure(errSpoiled()), nil
	}
	if p, ok := o.(*problem); ok {
		return failure(p), nil
	}
	rendered, err := w.render(o, expand)
	return reply{Status: http.StatusOK, Body: encode(rendered)}, err
}

// problem is an error of the API. If an operation returns it as an error, its changes are undone. If an operation
// returns it as a result, they are kept.
type problem struct {
	status int

	Type        string `json:"type"`
	Code        string `json:"code,omitempty"`
	DeclineCode string `json:"decline_code,omitempty"`
	Message     string `json:"message"`
	Param       string `json:"param,omitempty"`
}

func (p *problem) Error() string { return p.Message }

func invalid(code, param, format string, args ...any) *problem {
	return &problem{
		status: http.StatusBadRequest, Type: "invalid_request_error",
		Code: code, Param: param, Message: fmt.Sprintf(format, args...),
	}
}

// missing returns the problem that an object does not exist: status 404 if its id is in the path, and 400 if a
// parameter names it.
func (w *work) missing(kind, id string) *problem {
	p := invalid("resource_missing", "id", "No such %s: '%s'", nameOf(kind), id)
	if id == w.id {
		p.status = http.StatusNotFound
	}
	return p
}

// nameOf returns Stripe's name of a kind of object.
func nameOf(kind string) string {
	return map[string]string{
		"cus": "customer", "prod": "product", "price": "price", couponKind: "coupon", "sub": "subscription",
		scheduleKind: "subscription_schedule", "in": "invoice", "inpay": "invoice_payment", "pi": "payment_intent",
		"seti": "setup_intent", "pm": "payment_method", "re": "refund", "du": "dispute", "evt": "event", "di": "discount",
		"we": "webhook endpoint",
	}[kind]
}

// failure returns the reply for an error.
func failure(err error) reply {
	var p *problem
	var field *form.Problem
	switch {
	case errors.As(err, &field):
		p = invalid(field.Code, field.Param, "%s", field.Message)
	case !errors.As(err, &p):
		p = &problem{status: http.StatusInternalServerError, Type: "api_error", Message: err.Error()}
	}
	return reply{Status: p.status, Body: encode(map[string]*problem{"error": p})}
}

func respond(w http.ResponseWriter, r reply) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body) // fails if the client has disconnected
}
