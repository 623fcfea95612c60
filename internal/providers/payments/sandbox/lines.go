package sandbox

import "fmt"

// lines are the lines of an invoice.
type lines struct {
	Object     string  `json:"object"`
	URL        string  `json:"url"`
	HasMore    bool    `json:"has_more"`
	TotalCount int     `json:"total_count"`
	Data       []*line `json:"data"`
}

type line struct {
	ID              string            `json:"id"`
	Object          string            `json:"object"`
	Amount          int64             `json:"amount"`
	Currency        string            `json:"currency"`
	Description     string            `json:"description"`
	Discountable    bool              `json:"discountable"`
	DiscountAmounts []discountAmount  `json:"discount_amounts"`
	Discounts       []string          `json:"discounts"`
	Invoice         string            `json:"invoice"`
	Livemode        bool              `json:"livemode"`
	Metadata        map[string]string `json:"metadata"`
	Parent          lineParent        `json:"parent"`
	Period          period            `json:"period"`
	Pricing         *pricing          `json:"pricing"`
	Quantity        int64             `json:"quantity"`
	Subtotal        int64             `json:"subtotal"`
}

type lineParent struct {
	Type                    string       `json:"type"`
	InvoiceItemDetails      *lineDetails `json:"invoice_item_details"`
	SubscriptionItemDetails *lineDetails `json:"subscription_item_details"`
}

type lineDetails struct {
	InvoiceItem      text `json:"invoice_item"`
	Proration        bool `json:"proration"`
	Subscription     text `json:"subscription"`
	SubscriptionItem text `json:"subscription_item"`
}

type period struct {
	Start unix `json:"start"`
	End   unix `json:"end"`
}

type pricing struct {
	Type         string       `json:"type"`
	PriceDetails priceDetails `json:"price_details"`
}

type priceDetails struct {
	Price   text `json:"price"`
	Product text `json:"product"`
}

func newLines(invoice string) lines {
	return lines{Object: "list", URL: "/v1/invoices/" + invoice + "/lines", Data: []*line{}}
}

// addLine adds a line to a draft.
func (w *work) addLine(i *invoice, l *line) error {
	id, err := w.tx.NextID("il")
	if err != nil {
		return err
	}
	l.ID, l.Object, l.Invoice, l.Currency = id, "line_item", i.ID, i.Currency
	l.Subtotal, l.DiscountAmounts, l.Discounts = l.Amount, []discountAmount{}, []string{}
	if l.Metadata == nil {
		l.Metadata = map[string]string{}
	}
	i.Lines.Data = append(i.Lines.Data, l)
	i.Lines.TotalCount = len(i.Lines.Data)
	return nil
}

// priceLine returns the line of a subscription's item for a period.
func (w *work) priceLine(s *subscription, during period) (*line, error) {
	item := s.item()
	p, err := find[price](w, string(item.Price))
	if err != nil {
		return nil, err
	}
	of, err := find[product](w, string(p.Product))
	if err != nil {
		return nil, err
	}
	return &line{
		Amount:       p.UnitAmount * item.Quantity,
		Description:  fmt.Sprintf("%d × %s (at $%d.%02d / %s)", item.Quantity, of.Name, p.UnitAmount/100, p.UnitAmount%100, p.Recurring.Interval),
		Discountable: true, Metadata: s.Metadata, Period: during, Quantity: item.Quantity,
		Parent: lineParent{
			Type:                    "subscription_item_details",
			SubscriptionItemDetails: &lineDetails{Subscription: text(s.ID), SubscriptionItem: text(item.ID)},
		},
		Pricing: p.pricing(),
	}, nil
}

func (p *price) pricing() *pricing {
	return &pricing{Type: "price_details", PriceDetails: priceDetails{Price: text(p.ID), Product: p.Product}}
}
