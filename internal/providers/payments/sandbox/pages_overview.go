package sandbox

import (
	"net/http"
	"slices"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/store"
)

// Overview is a customer with what was made last for it; fields are "" where there is nothing.
type Overview struct {
	Customer      string `json:"customer"`
	Account       string `json:"account"` // of Recital, by the customer's metadata
	Subscription  string `json:"subscription"`
	Price         string `json:"price"`
	Status        string `json:"status"`
	Invoice       string `json:"invoice"`
	InvoiceStatus string `json:"invoice_status"`
	InvoicePage   string `json:"invoice_page"`
	CardPage      string `json:"card_page"` // where there is something to pay, or a card to register
}

// Customers returns the customers, the newest first.
func (s *Sandbox) Customers() (all []Overview, err error) {
	err = s.store.Update(func(tx *store.Tx) error {
		all, err = s.work(tx).overview()
		return err
	})
	return all, err
}

func (w *work) overview() ([]Overview, error) {
	customers, err := list[customer](w, "")
	if err != nil {
		return nil, err
	}
	all := []Overview{}
	for _, c := range customers {
		if c.Deleted {
			continue
		}
		o, err := w.overviewOf(c)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

func (w *work) overviewOf(c *customer) (Overview, error) {
	o := Overview{Customer: c.ID, Account: c.Metadata["account"]}
	subscriptions, err := list[subscription](w, c.ID)
	if err != nil {
		return o, err
	}
	if len(subscriptions) > 0 {
		last := subscriptions[0]
		o.Subscription, o.Price, o.Status = last.ID, string(last.item().Price), last.Status
	}
	setups, err := list[setupIntent](w, c.ID)
	if err != nil {
		return o, err
	}
	if len(setups) > 0 && (setups[0].Status == needsMethod || setups[0].Status == needsAction) {
		o.CardPage = w.CardPage(setups[0].ClientSecret)
	}
	invoices, err := list[invoice](w, c.ID)
	finished := slices.IndexFunc(invoices, func(i *invoice) bool { return i.Status != "draft" })
	if err != nil || finished < 0 {
		return o, err
	}
	last := invoices[finished]
	o.Invoice, o.InvoiceStatus, o.InvoicePage = last.ID, last.Status, w.URL()+invoicePath+last.ID
	if last.Status != "open" || last.PaymentIntent == "" {
		return o, nil
	}
	p, err := find[paymentIntent](w, last.PaymentIntent)
	if err == nil {
		o.CardPage = w.CardPage(p.ClientSecret)
	}
	return o, err
}

// overviewPage is what a person sees who looks around.
type overviewPage struct {
	Title     string
	Now       string
	Customers []Overview
}

func overviewTemplate() string {
	return `
<p>The sandbox's clock shows <strong>{{.Now}}</strong>. <code>recitalctl sandbox --help</code> says how it is driven.</p>
{{range .Customers}}
<table>
<tr><td>Customer</td><td>{{.Customer}}{{if .Account}}, account {{.Account}}{{end}}</td></tr>
{{if .Subscription}}<tr><td>Subscription</td><td>{{.Subscription}}: {{.Price}}, <strong>{{.Status}}</strong></td></tr>{{end}}
{{if .Invoice}}<tr><td>Invoice</td><td><a href="{{.InvoicePage}}">{{.Invoice}}</a>: {{.InvoiceStatus}}</td></tr>{{end}}
{{if .CardPage}}<tr><td>To do</td><td><a href="{{.CardPage}}">enter a card</a></td></tr>{{end}}
</table>
{{else}}<p>There is no customer yet. Subscribe with <code>POST /payments/subscribe</code>.</p>{{end}}
`
}

func (s *Sandbox) showOverview(w http.ResponseWriter, _ *http.Request) {
	page, ok := view(s, w, func(w *work) (overviewPage, error) {
		customers, err := w.overview()
		return overviewPage{Title: "Customers", Now: w.now.Format("2006-01-02 15:04:05 MST"), Customers: customers}, err
	})
	if ok {
		show(w, http.StatusOK, newPage(overviewTemplate()), page)
	}
}
