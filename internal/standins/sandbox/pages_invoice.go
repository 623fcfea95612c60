package sandbox

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"time"
)

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
	page := invoicePage{Title: "Invoice " + string(i.Number), Number: string(i.Number), Status: i.Status, Date: i.Created.time().Format(time.DateOnly)}
	for _, l := range i.Lines.Data {
		page.Lines = append(page.Lines, invoiceLine{l.Description, money(l.Amount, l.Currency)})
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
			page.Sums = append(page.Sums, invoiceLine{sum.what, money(sum.amount, i.Currency)})
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

func (s *Sandbox) printInvoice(w http.ResponseWriter, r *http.Request) {
	page, ok := view(s, w, func(w *work) (invoicePage, error) { return w.invoicePage(r.PathValue("id")) })
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "application/pdf")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(page.pdf()) // an error means that the browser has gone
}

// pdf returns the invoice as a page of text: PDF 1.4, in a font that every reader has.
func (p invoicePage) pdf() []byte {
	lines := []string{p.Title, p.Date + ", " + p.Status, ""}
	for _, l := range append(p.Lines[:len(p.Lines):len(p.Lines)], p.Sums...) {
		lines = append(lines, fmt.Sprintf("%-60s %18s", l.What, l.Amount))
	}
	var text strings.Builder
	text.WriteString("BT /F1 10 Tf 14 TL 50 790 Td\n")
	for _, l := range lines {
		fmt.Fprintf(&text, "(%s) Tj T*\n", inLatin1(l))
	}
	text.WriteString("ET")
	var out bytes.Buffer
	out.WriteString("%PDF-1.4\n")
	var offsets []int
	for n, object := range []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", text.Len(), text.String()),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>",
	} {
		offsets = append(offsets, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", n+1, object)
	}
	start := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&out, "trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return out.Bytes()
}

// inLatin1 writes text as a string of a PDF.
func inLatin1(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '(' || r == ')' || r == '\\':
			out.WriteByte('\\')
			out.WriteByte(byte(r))
		case r < ' ' || r > 0xff:
			out.WriteByte('?')
		default:
			out.WriteByte(byte(r))
		}
	}
	return out.String()
}
