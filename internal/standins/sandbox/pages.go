package sandbox

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/recital-tts/recital/domain/money"
	"github.com/recital-tts/recital/internal/standins"
)

// cardPath is the path prefix of the pages for paying with a card and registering one.
const cardPath = "/pages/cards/"

// CardPage returns the address of the page for paying a payment intent or registering a card.
func (s *Sandbox) CardPage(clientSecret string) string { return s.URL() + cardPath + clientSecret }

// pageFiles has the templates of the pages, which layout.html includes. Pages run no script except tellOpener, and load
// nothing.
//
//go:embed html/*.html
var pageFiles embed.FS

// show sends a page. file is the name of its template.
func show(w http.ResponseWriter, status int, file string, content any) {
	page := template.Must(template.ParseFS(pageFiles, "html/layout.html", "html/"+file))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer") // the address is a secret
	script := sha256.Sum256([]byte(tellOpener))
	w.Header().Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-"+base64.StdEncoding.EncodeToString(script[:])+
			"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	w.WriteHeader(status)
	_ = page.Execute(w, content) // fails if the browser has disconnected
}

// view reads the content of a page. If it fails, it answers the request and returns false.
func view[T any](s *Sandbox, w http.ResponseWriter, read func(*work) (T, error)) (T, bool) {
	content, err := look(s, read)
	var p *problem
	switch {
	case errors.As(err, &p):
		http.Error(w, "Page not found", http.StatusNotFound)
	case err != nil:
		s.config.Logger.Error("the payment sandbox cannot show a page", "error", err)
		http.Error(w, "The sandbox has failed", http.StatusInternalServerError)
	}
	return content, err == nil
}

func (s *Sandbox) showInvoice(w http.ResponseWriter, r *http.Request) {
	page, ok := view(s, w, func(w *work) (invoicePage, error) { return w.invoicePage(r.PathValue("id")) })
	if ok {
		show(w, http.StatusOK, "invoice.html", page)
	}
}

// cardPage is the page for paying with a card or registering one.
type cardPage struct {
	Title   string
	Amount  string // "" when registering a card
	Action  string // label of the button
	Waits   bool   // it asks for a card
	Asks    bool   // it asks for a confirmation
	Done    bool
	Method  string // id of the registered card, for POST /payments/payment-method/replace
	Result  string // JSON for the page's opener, when the page is done
	Opener  string // origin of the opener, or ""
	Script  template.JS
	Refusal string
	Cards   []testCard
}

// tellOpener is the script of a completed page. It posts the result to the opener, as Stripe.js does.
const tellOpener = `const done = document.getElementById("done").dataset
window.opener?.postMessage(JSON.parse(done.result), done.opener)`

// result holds the fields of Stripe.js's result that Recital uses.
type result struct {
	ID            string `json:"id"`
	Status        string `json:"status"`
	PaymentMethod string `json:"payment_method"`
}

// cardPage returns the page for a client secret.
func (w *work) cardPage(secret string) (cardPage, error) {
	page := cardPage{Title: "Register a card", Action: "Register", Cards: testCards()}
	i, err := w.intentOf(secret)
	if err != nil {
		return page, err
	}
	switch i := i.(type) {
	case *setupIntent:
		page = page.in(i.Status, i.LastSetupError)
		if page.Done {
			page.Method = string(i.PaymentMethod)
		}
		return page.tells("setupIntent", result{i.ID, i.Status, string(i.PaymentMethod)})
	case *paymentIntent:
		page.Title, page.Amount, page.Action = i.Description, money.Format(i.Amount, i.Currency), "Pay"
		page = page.in(i.Status, i.LastPaymentError)
		return page.tells("paymentIntent", result{i.ID, i.Status, string(i.PaymentMethod)})
	}
	return page, nil
}

func (p cardPage) tells(kind string, r result) (cardPage, error) {
	encoded, err := json.Marshal(map[string]result{kind: r})
	p.Result = string(encoded)
	return p, err
}

// in returns the page for the status of an intent.
func (p cardPage) in(status string, refused *problem) cardPage {
	p.Waits, p.Asks, p.Done = status == needsMethod, status == needsAction, status == succeeded
	if p.Waits && refused != nil {
		p.Refusal = refused.Message
	}
	return p
}

func (s *Sandbox) showCard(w http.ResponseWriter, r *http.Request) {
	s.showCardWith(w, r, http.StatusOK, "")
}

func (s *Sandbox) showCardWith(w http.ResponseWriter, r *http.Request, status int, refusal string) {
	page, ok := view(s, w, func(w *work) (cardPage, error) { return w.cardPage(r.PathValue("secret")) })
	if !ok {
		return
	}
	page.Opener, page.Script = openerOf(r), tellOpener
	if refusal != "" {
		page.Refusal = refusal
	}
	show(w, status, "card.html", page)
}

// openerOf returns the origin in the query parameter opener, or "".
func openerOf(r *http.Request) string {
	opener, err := url.Parse(r.URL.Query().Get("opener"))
	if err != nil || opener.Scheme != "http" && opener.Scheme != "https" || opener.Host == "" {
		return ""
	}
	return opener.Scheme + "://" + opener.Host
}

// takeCard handles the form of a card page.
func (s *Sandbox) takeCard(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form cannot be read", http.StatusBadRequest)
		return
	}
	secret := r.PathValue("secret")
	var err error
	if answer := r.PostForm.Get("answer"); answer != "" {
		err = s.Authenticate(secret, answer == "approve")
	} else {
		err = s.Confirm(secret, r.PostForm.Get("number"))
	}
	var refused *problem
	switch {
	case err == nil:
		page := url.URL{Path: cardPath + secret, RawQuery: r.URL.RawQuery}
		http.Redirect(w, r, page.String(), http.StatusSeeOther)
	case errors.As(err, &refused):
		s.showCardWith(w, r, http.StatusPaymentRequired, refused.Message)
	default:
		s.config.Logger.Error("the payment sandbox cannot take a card", "error", err)
		http.Error(w, "The sandbox has failed", http.StatusInternalServerError)
	}
}

// Customers returns the customers, newest first.
func (s *Sandbox) Customers() ([]standins.Customer, error) {
	return look(s, func(w *work) ([]standins.Customer, error) {
		all := []standins.Customer{}
		for _, c := range list[customer](w, "") {
			if c.alive() {
				all = append(all, w.overviewOf(c))
			}
		}
		return all, nil
	})
}

func (w *work) overviewOf(c *customer) standins.Customer {
	o := standins.Customer{Customer: c.ID, Account: c.Metadata["account"]}
	if all := list[subscription](w, c.ID); len(all) > 0 {
		o.Subscription, o.Price, o.Status = all[0].ID, string(all[0].item().Price), all[0].Status
	}
	if all := list[setupIntent](w, c.ID); len(all) > 0 && all[0].Status != succeeded {
		o.CardPage = w.CardPage(all[0].ClientSecret)
	}
	invoices := list[invoice](w, c.ID)
	final := slices.IndexFunc(invoices, func(i *invoice) bool { return i.Status != "draft" })
	if final < 0 {
		return o
	}
	last := invoices[final]
	o.Invoice, o.InvoiceStatus, o.InvoicePage = last.ID, last.Status, w.URL()+invoicePath+last.ID
	if last.Status == "open" && last.PaymentIntent != "" {
		o.CardPage = w.CardPage(get[paymentIntent](w, last.PaymentIntent).ClientSecret)
	}
	return o
}

// invoicePath is the path prefix of invoices' pages.
const invoicePath = "/pages/invoices/"

// invoicePage is the page of an invoice.
type invoicePage struct {
	*invoice
	Title   string
	Date    string
	Balance int64  // amount from the customer's balance
	Pay     string // address of the page for paying it, or ""
}

// Sum formats an amount for the template.
func (p invoicePage) Sum(amount int64) string { return money.Format(amount, p.Currency) }

func (w *work) invoicePage(id string) (invoicePage, error) {
	i, err := find[invoice](w, id)
	if err == nil && i.Status == "draft" {
		err = w.missing("in", id)
	}
	if err != nil {
		return invoicePage{}, err
	}
	page := invoicePage{
		invoice: i, Title: "Invoice " + string(i.Number), Date: i.Created.time().Format(time.DateOnly),
		Balance: i.AmountDue - i.Total,
	}
	if i.Status == "open" && i.PaymentIntent != "" {
		page.Pay = cardPath + get[paymentIntent](w, i.PaymentIntent).ClientSecret
	}
	return page, nil
}
