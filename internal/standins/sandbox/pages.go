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

// cardPath begins the paths of the pages on which cards pay and are registered.
const cardPath = "/pages/cards/"

// CardPage returns the address of the page on which a person pays a payment intent, or registers a card.
func (s *Sandbox) CardPage(clientSecret string) string { return s.URL() + cardPath + clientSecret }

// pageFiles has the templates of pages: each is content for layout.html, which is common to all. No script but
// tellOpener runs in them, and nothing is fetched from elsewhere.
//
//go:embed html/*.html
var pageFiles embed.FS

// show sends the page whose template is in a file.
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
	_ = page.Execute(w, content) // an error means that the browser has gone
}

// view reads the content of a page. If there is no such page, it answers the request and returns false.
func view[T any](s *Sandbox, w http.ResponseWriter, read func(*work) (T, error)) (T, bool) {
	content, err := look(s, read)
	var p *problem
	switch {
	case errors.As(err, &p):
		http.Error(w, "There is no such page", http.StatusNotFound)
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

// cardPage is the page on which a person pays, or registers a card.
type cardPage struct {
	Title   string
	Amount  string // "" where a card is registered
	Action  string // text of the button
	Waits   bool   // it waits for a card
	Asks    bool   // it asks for a confirmation
	Done    bool
	Method  string // id of the card that was registered, for POST /payments/payment-method/replace
	Result  string // JSON that the page's opener gets when it is done
	Opener  string // origin of the page that opened this one, or ""
	Script  template.JS
	Refusal string
	Cards   []testCard
}

// tellOpener is the script of a completed page: it sends the result to its opener, as Stripe.js does.
const tellOpener = `const done = document.getElementById("done").dataset
window.opener?.postMessage(JSON.parse(done.result), done.opener)`

// result is the part of Stripe.js's result of a payment or a registration that Recital needs.
type result struct {
	ID            string `json:"id"`
	Status        string `json:"status"`
	PaymentMethod string `json:"payment_method"`
}

// cardPage returns the page of a client secret.
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

// in returns the page in a state of what it is for.
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

// openerOf returns the origin in the query, or "".
func openerOf(r *http.Request) string {
	opener, err := url.Parse(r.URL.Query().Get("opener"))
	if err != nil || opener.Scheme != "http" && opener.Scheme != "https" || opener.Host == "" {
		return ""
	}
	return opener.Scheme + "://" + opener.Host
}

// takeCard handles the form of a card page, and shows the result.
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

// Overview is a customer with its latest subscription and invoice.
type Overview = standins.Customer

// Customers returns the customers, newest first.
func (s *Sandbox) Customers() ([]Overview, error) {
	return look(s, func(w *work) ([]Overview, error) {
		all := []Overview{}
		for _, c := range list[customer](w, "") {
			if c.alive() {
				all = append(all, w.overviewOf(c))
			}
		}
		return all, nil
	})
}

func (w *work) overviewOf(c *customer) Overview {
	o := Overview{Customer: c.ID, Account: c.Metadata["account"]}
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

// invoicePath begins the paths of the pages of invoices.
const invoicePath = "/pages/invoices/"

// invoicePage is the page of an invoice.
type invoicePage struct {
	*invoice
	Title   string
	Date    string
	Balance int64  // what the customer's balance adds to the total
	Pay     string // address of the page on which it is paid; "" if it need not be
}

// Sum is called by the template.
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
