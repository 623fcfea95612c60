package sandbox

import "slices"

// product is what can be bought.
type product struct {
	base
	Active       bool     `json:"active"`
	Name         string   `json:"name"`
	Description  text     `json:"description"`
	DefaultPrice text     `json:"default_price"`
	Images       []string `json:"images"`
	Type         string   `json:"type"`
	Updated      unix     `json:"updated"`
}

func (*product) kind() string { return "prod" }

// price is what a product costs.
type price struct {
	base
	Active        bool       `json:"active"`
	BillingScheme string     `json:"billing_scheme"`
	Currency      string     `json:"currency"`
	LookupKey     text       `json:"lookup_key"`
	Nickname      text       `json:"nickname"`
	Product       text       `json:"product"`
	Recurring     *recurring `json:"recurring"`
	Type          string     `json:"type"`
	UnitAmount    int64      `json:"unit_amount"`
}

type recurring struct {
	Interval      string `json:"interval"` // day, week, month or year
	IntervalCount int64  `json:"interval_count"`
	UsageType     string `json:"usage_type"`
}

func (*price) kind() string { return "price" }

func createProduct(w *work) (any, error) {
	b, err := w.newBase("prod", "product")
	if err != nil {
		return nil, err
	}
	if id := w.form.String("id"); id != "" {
		b.ID = id
	}
	p := &product{base: b, Name: w.form.Required("name"), Images: []string{}, Type: "service"}
	p.Active = w.form.Bool("active", true)
	p.Description, p.Updated = text(w.form.String("description")), at(w.now)
	return w.saved(p, "product.created")
}

func updateProduct(w *work) (any, error) {
	p, err := find[product](w, w.id)
	if err != nil {
		return nil, err
	}
	w.mergeMetadata(&p.base)
	p.Active, p.Updated = w.form.Bool("active", p.Active), at(w.now)
	if name := w.form.String("name"); name != "" {
		p.Name = name
	}
	if w.form.Has("description") {
		p.Description = text(w.form.String("description"))
	}
	return w.saved(p, "product.updated")
}

func listProducts(w *work) (any, error) {
	active, ids := w.form.String("active"), w.form.Strings("ids")
	return page(w, "", func(p *product) bool {
		return is(active, p.Active) && (len(ids) == 0 || slices.Contains(ids, p.ID))
	})
}

// is reports whether a flag is as a filter wants it, which "" does not mind.
func is(filter string, flag bool) bool { return filter == "" || (filter == "true") == flag }

func createPrice(w *work) (any, error) {
	b, err := w.newBase("price", "price")
	if err != nil {
		return nil, err
	}
	owner, err := find[product](w, w.form.Required("product"))
	if err != nil {
		return nil, err
	}
	p := &price{
		base: b, Active: w.form.Bool("active", true), BillingScheme: "per_unit",
		Currency: w.form.Required("currency"), LookupKey: text(w.form.String("lookup_key")),
		Nickname: text(w.form.String("nickname")), Product: text(owner.ID),
		Type: "one_time", UnitAmount: w.form.Int("unit_amount", 0),
	}
	if w.form.Has("recurring") {
		r := w.form.Sub("recurring")
		p.Type = "recurring"
		p.Recurring = &recurring{
			Interval: r.Required("interval"), IntervalCount: r.Int("interval_count", 1),
			UsageType: r.Enum("usage_type", "licensed"),
		}
	}
	return w.saved(p, "price.created")
}

func updatePrice(w *work) (any, error) {
	p, err := find[price](w, w.id)
	if err != nil {
		return nil, err
	}
	w.mergeMetadata(&p.base)
	p.Active = w.form.Bool("active", p.Active)
	if w.form.Has("nickname") {
		p.Nickname = text(w.form.String("nickname"))
	}
	return w.saved(p, "price.updated")
}

func listPrices(w *work) (any, error) {
	active, owner, currency := w.form.String("active"), w.form.String("product"), w.form.String("currency")
	kind, keys := w.form.String("type"), w.form.Strings("lookup_keys")
	interval := w.form.Sub("recurring").String("interval")
	return page(w, "", func(p *price) bool {
		return is(active, p.Active) && (owner == "" || string(p.Product) == owner) &&
			(currency == "" || p.Currency == currency) && (kind == "" || p.Type == kind) &&
			(len(keys) == 0 || slices.Contains(keys, string(p.LookupKey))) &&
			(interval == "" || p.Recurring != nil && p.Recurring.Interval == interval)
	})
}
