package sandbox

import (
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/recital-tts/recital/domain/money"
)

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
	Cards   []shownCard
}

// shownCard is a test card and what it does.
type shownCard struct{ Number, Does string }

func cardTemplate() string {
	return `
{{if .Amount}}<p>To pay: <strong id="amount">{{.Amount}}</strong></p>{{end}}
{{if .Refusal}}<p class="refused" id="refusal" role="alert">{{.Refusal}}</p>{{end}}
{{if .Done}}<p class="done" id="done" role="status"
{{if .Opener}} data-opener="{{.Opener}}" data-result="{{.Result}}"{{end}}>Done. You can close this page.</p>
{{if .Opener}}<script>{{.Script}}</script>{{end}}
{{if .Method}}<p>Its <code>payment_method_id</code>: <code id="payment-method">{{.Method}}</code></p>{{end}}
{{else if .Asks}}
<p id="question">Your bank asks whether it is you.</p>
<form method="post">
<button id="approve" name="answer" value="approve">It is me</button>
<button id="refuse" name="answer" value="refuse">It is not</button>
</form>
{{else if .Waits}}
<form method="post">
<label>Card number <input name="number" id="number" inputmode="numeric" autocomplete="off" autofocus required
maxlength="30" placeholder="4242 4242 4242 4242"></label>
<button id="pay">{{.Action}}</button>
</form>
<h2>Cards for tests</h2>
<table>
{{range .Cards}}<tr><td>{{.Number}}</td><td>{{.Does}}</td></tr>
{{end}}</table>
{{else}}<p id="over" role="status">There is nothing to do here any more.</p>{{end}}
`
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

func shownCards() []shownCard {
	var shown []shownCard
	for _, c := range testCards() {
		shown = append(shown, shownCard{Number: inGroups(c.number), Does: c.does()})
	}
	return shown
}

func (c testCard) does() string {
	switch {
	case c.decline != "" && c.refused:
		return "is declined: " + strings.ReplaceAll(c.decline, "_", " ")
	case c.decline != "":
		return "can be registered, and is declined"
	case c.confirm == always:
		return "pays; asks for a confirmation each time"
	case c.confirm == unlessSetUp:
		return "pays; asks for a confirmation the first time"
	case c.disputed:
		return "pays; its owner disputes it"
	}
	return "pays (" + c.brand + ")"
}

func inGroups(number string) string {
	var groups []string
	for len(number) > 4 {
		groups, number = append(groups, number[:4]), number[4:]
	}
	return strings.Join(append(groups, number), " ")
}

// cardPage returns the page of a client secret.
func (w *work) cardPage(secret string) (cardPage, error) {
	page := cardPage{Title: "Register a card", Action: "Register", Cards: shownCards()}
	if strings.HasPrefix(secret, "seti_") {
		i, err := w.setupOf(secret)
		if err != nil {
			return page, err
		}
		page = page.in(i.Status, i.LastSetupError)
		if page.Done {
			page.Method = string(i.PaymentMethod)
		}
		return page.tells("setupIntent", result{i.ID, i.Status, string(i.PaymentMethod)})
	}
	p, err := w.intentOf(secret)
	if err != nil {
		return page, err
	}
	page.Title, page.Amount, page.Action = p.Description, money.Format(p.Amount, p.Currency), "Pay"
	return page.in(p.Status, p.LastPaymentError).tells("paymentIntent", result{p.ID, p.Status, string(p.PaymentMethod)})
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
	show(w, status, newPage(cardTemplate()), page)
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
	err := s.pay(secret, r.PostForm.Get("number"), r.PostForm.Get("answer"))
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

func (s *Sandbox) pay(secret, number, answer string) error {
	if answer != "" {
		return s.Authenticate(secret, answer == "approve")
	}
	return s.Confirm(secret, number)
}
