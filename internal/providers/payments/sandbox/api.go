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
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/form"
	"github.com/recital-tts/recital/internal/providers/payments/sandbox/store"
)

// operations returns the API, by the patterns of http.ServeMux.
func operations() map[string]operation {
	return map[string]operation{
		"POST /v1/customers":        createCustomer,
		"GET /v1/customers":         listCustomers,
		"GET /v1/customers/search":  search[customer],
		"GET /v1/customers/{id}":    getCustomer,
		"POST /v1/customers/{id}":   updateCustomer,
		"DELETE /v1/customers/{id}": deleteCustomer,

		"POST /v1/products":       createProduct,
		"GET /v1/products":        listProducts,
		"GET /v1/products/search": search[product],
		"GET /v1/products/{id}":   get[product],
		"POST /v1/products/{id}":  updateProduct,

		"POST /v1/prices":       createPrice,
		"GET /v1/prices":        listPrices,
		"GET /v1/prices/search": search[price],
		"GET /v1/prices/{id}":   get[price],
		"POST /v1/prices/{id}":  updatePrice,

		"POST /v1/coupons":        createCoupon,
		"GET /v1/coupons":         listCoupons,
		"GET /v1/coupons/{id}":    getCoupon,
		"DELETE /v1/coupons/{id}": deleteCoupon,

		"POST /v1/payment_methods":                     createMethod,
		"GET /v1/payment_methods":                      listMethods,
		"GET /v1/payment_methods/{id}":                 get[paymentMethod],
		"POST /v1/payment_methods/{id}":                updateMethod,
		"POST /v1/payment_methods/{id}/attach":         attachMethod,
		"POST /v1/payment_methods/{id}/detach":         detachMethod,
		"GET /v1/customers/{id}/payment_methods":       listCustomersMethods,
		"GET /v1/payment_intents":                      listIntents,
		"GET /v1/payment_intents/search":               search[paymentIntent],
		"GET /v1/payment_intents/{id}":                 get[paymentIntent],
		"POST /v1/payment_intents/{id}/confirm":        confirmIntent,
		"GET /v1/charges":                              listCharges,
		"GET /v1/charges/search":                       search[charge],
		"GET /v1/charges/{id}":                         get[charge],
		"GET /v1/invoice_payments":                     listInvoicePayments,
		"GET /v1/invoice_payments/{id}":                get[invoicePayment],
		"POST /v1/subscriptions":                       createSubscription,
		"GET /v1/subscriptions":                        listSubscriptions,
		"GET /v1/subscriptions/search":                 search[subscription],
		"GET /v1/subscriptions/{id}":                   get[subscription],
		"DELETE /v1/subscriptions/{id}":                cancelSubscription,
		"POST /v1/subscriptions/{id}":                  updateSubscription,
		"GET /v1/subscription_items":                   listItems,
		"GET /v1/subscription_items/{id}":              getItem,
		"POST /v1/subscription_items/{id}":             updateItem,
		"POST /v1/subscription_schedules":              createSchedule,
		"GET /v1/subscription_schedules":               listSchedules,
		"GET /v1/subscription_schedules/{id}":          get[schedule],
		"POST /v1/subscription_schedules/{id}":         updateSchedule,
		"POST /v1/subscription_schedules/{id}/release": releaseSchedule,
		"POST /v1/subscription_schedules/{id}/cancel":  cancelSchedule,
		"POST /v1/setup_intents":                       createSetup,
		"GET /v1/setup_intents":                        listSetups,
		"GET /v1/setup_intents/{id}":                   get[setupIntent],
		"POST /v1/setup_intents/{id}/confirm":          confirmSetup,
		"POST /v1/setup_intents/{id}/cancel":           cancelSetup,
		"POST /v1/invoiceitems":                        createInvoiceItem,
		"GET /v1/invoiceitems":                         listInvoiceItems,
		"GET /v1/invoiceitems/{id}":                    get[invoiceItem],
		"DELETE /v1/invoiceitems/{id}":                 deleteInvoiceItem,
		"POST /v1/refunds":                             createRefund,
		"GET /v1/refunds":                              listRefunds,
		"GET /v1/refunds/{id}":                         get[refund],
		"GET /v1/disputes":                             listDisputes,
		"GET /v1/disputes/{id}":                        get[dispute],
		"POST /v1/invoices":                            createInvoice,
		"POST /v1/invoices/{id}/mark_uncollectible":    markUncollectible,
		"GET /v1/invoices":                             listInvoices,
		"GET /v1/invoices/search":                      search[invoice],
		"GET /v1/invoices/{id}":                        get[invoice],
		"POST /v1/invoices/{id}/pay":                   payInvoice,
		"POST /v1/invoices/{id}/void":                  voidInvoice,
		"POST /v1/invoices/{id}/finalize":              finalizeInvoice,
		"GET /v1/events":                               listEvents,
		"GET /v1/events/{id}":                          getEvent,
	}
}

// get returns an object as it is.
func get[T any, P kept[T]](w *work) (any, error) { return find[T, P](w, w.id) }

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

// Stripe forgets keys after 24 hours.
const keysKept = 24 * time.Hour

// keysInUse is the set of keys of the requests that are being answered.
type keysInUse struct {
	mu   sync.Mutex
	keys map[string]bool
}

func (k *keysInUse) begin(key string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys[key] {
		return false
	}
	if k.keys == nil {
		k.keys = map[string]bool{}
	}
	k.keys[key] = true
	return true
}

func (k *keysInUse) end(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.keys, key)
}

// remembered is a reply that repetitions of a request get, too.
type remembered struct {
	ID      string    `json:"id"`
	Content string    `json:"content"`
	Reply   reply     `json:"reply"`
	Until   time.Time `json:"until"`
}

// Key implements store.Object.
func (r *remembered) Key() string { return r.ID }

// Owner implements store.Object.
func (*remembered) Owner() string { return "" }

// Due implements store.Object.
func (r *remembered) Due() time.Time { return r.Until }

// Queue implements store.Object.
func (*remembered) Queue() string { return clockQueue }

func keyID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "key_" + hex.EncodeToString(sum[:])
}

// remembered returns the reply that a call got before, or nil.
func (s *Sandbox) remembered(c *call) (*reply, error) {
	var r remembered
	err := s.store.Update(func(tx *store.Tx) error { return tx.Get(keyID(c.key), &r) })
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && !s.clock.now().Before(r.Until):
		return nil, nil
	case err != nil:
		return nil, err
	case r.Content != c.content:
		return nil, &problem{
			status: http.StatusBadRequest, Type: "idempotency_error",
			Message: "Keys for idempotent requests can only be used with the same parameters they were first used with.",
		}
	}
	return &r.Reply, nil
}

func (s *Sandbox) remember(tx *store.Tx, c *call, given reply) error {
	if c.key == "" {
		return nil
	}
	return tx.Put(&remembered{ID: keyID(c.key), Content: c.content, Reply: given, Until: s.clock.now().Add(keysKept)})
}

// problem is an error of the API. As an error it undoes what the request did; as an answer it leaves it.
type problem struct {
	status int

	Type          string         `json:"type"`
	Code          string         `json:"code,omitempty"`
	DeclineCode   string         `json:"decline_code,omitempty"`
	Message       string         `json:"message"`
	Param         string         `json:"param,omitempty"`
	Charge        string         `json:"charge,omitempty"`
	PaymentIntent *paymentIntent `json:"payment_intent,omitempty"`
	SetupIntent   *setupIntent   `json:"setup_intent,omitempty"`
}

func (p *problem) Error() string { return p.Message }

func invalid(code, param, format string, args ...any) *problem {
	return &problem{
		status: http.StatusBadRequest, Type: "invalid_request_error",
		Code: code, Param: param, Message: fmt.Sprintf(format, args...),
	}
}

// missing is an object that does not exist: 404 if it is the one of the path, and 400 if a parameter names it.
func (w *work) missing(kind, id string) *problem {
	p := invalid("resource_missing", "id", "No such %s: '%s'", nameOf(kind), id)
	if id == w.id {
		p.status = http.StatusNotFound
	}
	return p
}

// nameOf returns what Stripe calls objects of a kind.
func nameOf(kind string) string {
	return map[string]string{
		"cus": "customer", "prod": "product", "price": "price", couponKind: "coupon", "sub": "subscription",
		"si": "subscription_item", scheduleKind: "subscription_schedule", "in": "invoice", "ii": "invoiceitem",
		"inpay": "invoice_payment", "pi": "payment_intent", "seti": "setup_intent", "pm": "payment_method", "ch": "charge",
		"re": "refund", "du": "dispute", "evt": "event", "di": "discount",
	}[kind]
}
