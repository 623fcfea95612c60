package sandbox

import (
	"net/http"
	"slices"
	"time"

	"github.com/recital-tts/recital/domain/money"
	"github.com/recital-tts/recital/internal/standins"
)

// Overview is a customer with its latest subscription and invoice.
type Overview = standins.Customer

// Customers returns the customers, newest first.
func (s *Sandbox) Customers() (all []Overview, err error) {
	err = s.read(func(w *work) error {
		all = w.overview()
		return nil
	})
	return all, err
}

func (w *work) overview() []Overview {
	all := []Overview{}
	for _, c := range list[customer](w, "") {
		if c.alive() {
			all = append(all, w.overviewOf(c))
		}
	}
	return all
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

// overviewPage is the start page.
type overviewPage struct {
	Title     string
	Now       string
	Customers []Overview
}

func overviewTemplate() string {
	return `
<p>The sandbox's clock shows <strong>{{.Now}}</strong>.
<code>recitalctl sandbox --help</code> says how it is driven.</p>
{{range .Customers}}
<table>
<tr><td>Customer</td><td>{{.Customer}}{{if .Account}}, account {{.Account}}{{end}}</td></tr>
{{if .Subscription}}<tr><td>Subscription</td>
<td>{{.Subscription}}: {{.Price}}, <strong>{{.Status}}</strong></td></tr>{{end}}
{{if .Invoice}}<tr><td>Invoice</td><td><a href="{{.InvoicePage}}">{{.Invoice}}</a>: {{.InvoiceStatus}}</td></tr>{{end}}
{{if .CardPage}}<tr><td>To do</td><td><a href="{{.CardPage}}">enter a card</a></td></tr>{{end}}
</table>
{{else}}<p>There is no customer yet. Subscribe with <code>POST /payments/subscribe</code>.</p>{{end}}
`
}

func (s *Sandbox) showOverview(w http.ResponseWriter, _ *http.Request) {
	page, ok := view(s, w, func(w *work) (overviewPage, error) {
		return overviewPage{Title: "Customers", Now: w.now.Format("2006-01-02 15:04:05 MST"), Customers: w.overview()}, nil
	})
	if ok {
		show(w, http.StatusOK, newPage(overviewTemplate()), page)
	}
}

// invoicePath begins the paths of the pages of invoices.
const invoicePath = "/pages/invoices/"

// invoicePage is the page of an invoice.
type invoicePage struct {
	Title  string
	Number string
	Status string
	Date   string
	Lines  []invoiceLine
	Sums   []invoiceLine
	Pay    string // address of the page on which it is paid; "" if it need not be
}

type invoiceLine struct{ What, Amount string }

func invoiceTemplate() string {
	return `
<p>{{.Date}} · <strong id="status">{{.Status}}</strong></p>
<table>
{{range .Lines}}<tr><td>{{.What}}</td><td class="amount">{{.Amount}}</td></tr>
{{end}}{{range .Sums}}<tr><th>{{.What}}</th><th class="amount">{{.Amount}}</th></tr>
{{end}}</table>
{{if .Pay}}<p><a id="pay" href="{{.Pay}}">Pay this invoice</a></p>{{end}}
`
}

func (w *work) invoicePage(id string) (invoicePage, error) {
	i, err := find[invoice](w, id)
	if err == nil && i.Status == "draft" {
		err = w.missing("in", id)
	}
	if err != nil {
		return invoicePage{}, err
	}
	page := invoicePage{
		Title: "Invoice " + string(i.Number), Number: string(i.Number), Status: i.Status,
		Date: i.Created.time().Format(time.DateOnly),
	}
	for _, l := range i.Lines.Data {
		page.Lines = append(page.Lines, invoiceLine{l.Description, money.Format(l.Amount, l.Currency)})
	}
	for _, sum := range []struct {
		what   string
		amount int64
		always bool
	}{
		{"Discount", -i.Discount, false}, {"Total", i.Total, true}, {"From the balance", i.AmountDue - i.Total, false},
		{"Paid", i.AmountPaid, false}, {"To pay", i.AmountRemaining, true},
	} {
		if sum.always || sum.amount != 0 {
			page.Sums = append(page.Sums, invoiceLine{sum.what, money.Format(sum.amount, i.Currency)})
		}
	}
	if i.Status != "open" || i.PaymentIntent == "" {
		return page, nil
	}
	page.Pay = cardPath + get[paymentIntent](w, i.PaymentIntent).ClientSecret
	return page, nil
}

func (s *Sandbox) showInvoice(w http.ResponseWriter, r *http.Request) {
	page, ok := view(s, w, func(w *work) (invoicePage, error) { return w.invoicePage(r.PathValue("id")) })
	if ok {
		show(w, http.StatusOK, newPage(invoiceTemplate()), page)
	}
}
