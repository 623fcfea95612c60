package sandbox

import "time"

// coupon is a discount that can be given.
type coupon struct {
	base
	Name             text    `json:"name"`
	AmountOff        int64   `json:"amount_off,omitempty"`
	Currency         text    `json:"currency"`
	PercentOff       float64 `json:"percent_off,omitempty"`
	Duration         string  `json:"duration"` // once, repeating or forever
	DurationInMonths int64   `json:"duration_in_months,omitempty"`
	MaxRedemptions   int64   `json:"max_redemptions,omitempty"`
	RedeemBy         unix    `json:"redeem_by"`
	TimesRedeemed    int64   `json:"times_redeemed"`
	Valid            bool    `json:"valid"`
	Deleted          bool    `json:"sandbox_deleted,omitempty"` // it still counts for those who have it
}

// Key implements store.Object.
func (c *coupon) Key() string { return keyOf(couponKind, c.ID) }

func (*coupon) kind() string { return couponKind }

// discount is a coupon that was given.
type discount struct {
	base
	Customer     text           `json:"customer"`
	Subscription text           `json:"subscription"`
	Source       discountSource `json:"source"`
	Start        unix           `json:"start"`
	End          unix           `json:"end"`
}

type discountSource struct {
	Coupon text   `json:"coupon"`
	Type   string `json:"type"`
}

func (*discount) kind() string { return "di" }

func createCoupon(w *work) (any, error) {
	b, err := w.newBase(couponKind, "coupon")
	if err != nil {
		return nil, err
	}
	if id := w.form.String("id"); id != "" {
		b.ID = id
	}
	c := &coupon{
		base: b, Name: text(w.form.String("name")), Valid: true,
		AmountOff: w.form.Int("amount_off", 0), Currency: text(w.form.String("currency")),
		PercentOff: w.form.Float("percent_off"), Duration: w.form.Enum("duration", "once", "repeating", "forever"),
		DurationInMonths: w.form.Int("duration_in_months", 0),
		MaxRedemptions:   w.form.Int("max_redemptions", 0), RedeemBy: at(w.form.Time("redeem_by")),
	}
	if (c.AmountOff > 0) == (c.PercentOff > 0) {
		return nil, invalid("", "", "You must pass one of amount_off and percent_off")
	}
	return w.saved(c, "coupon.created")
}

// usableCoupon returns a coupon that has not been deleted.
func (w *work) usableCoupon(id string) (*coupon, error) {
	c, err := find[coupon](w, id)
	if err == nil && c.Deleted {
		return nil, w.missing(couponKind, id)
	}
	return c, err
}

func getCoupon(w *work) (any, error) { return w.usableCoupon(w.id) }

func deleteCoupon(w *work) (any, error) {
	c, err := w.usableCoupon(w.id)
	if err != nil {
		return nil, err
	}
	c.Deleted, c.Valid = true, false
	return deleted(c.ID, "coupon"), w.update(c, "coupon.deleted")
}

func listCoupons(w *work) (any, error) {
	return page(w, "", func(c *coupon) bool { return !c.Deleted })
}

// redeem gives a customer's subscription a coupon.
func (w *work) redeem(id string, s *subscription) (*discount, error) {
	c, err := w.usableCoupon(id)
	if err != nil {
		return nil, err
	}
	late := c.RedeemBy != 0 && c.RedeemBy.time().Before(w.now)
	if !c.Valid || late || c.MaxRedemptions > 0 && c.TimesRedeemed >= c.MaxRedemptions {
		return nil, invalid("coupon_expired", "discounts[0][coupon]", "Coupon expired: %s", id)
	}
	b, err := w.newBase("di", "discount")
	if err != nil {
		return nil, err
	}
	d := &discount{
		base: b, Customer: s.Customer, Subscription: text(s.ID), Start: at(w.now),
		Source: discountSource{Coupon: text(c.ID), Type: "coupon"},
	}
	if c.Duration == "repeating" {
		d.End = at(addMonths(w.now, int(c.DurationInMonths)))
	}
	c.TimesRedeemed++
	return d, w.save(c, d)
}

// off returns how much a subscription's discount takes from an amount. A discount that is over is taken away; one that
// counts once is used up if it is used.
func (w *work) off(s *subscription, amount int64, use bool) (int64, text, error) {
	if len(s.Discounts) == 0 {
		return 0, "", nil
	}
	d, err := find[discount](w, s.Discounts[0])
	if err != nil {
		return 0, "", err
	}
	if d.End != 0 && !w.now.Before(d.End.time()) {
		s.Discounts = []string{}
		return 0, "", nil
	}
	c, err := find[coupon](w, string(d.Source.Coupon))
	if err != nil {
		return 0, "", err
	}
	if use && c.Duration == "once" {
		s.Discounts = []string{}
	}
	if c.PercentOff > 0 {
		return int64(float64(amount)*c.PercentOff/100 + 0.5), text(d.ID), nil
	}
	return min(c.AmountOff, amount), text(d.ID), nil
}

// addMonths returns a time some months later, on the last day of a month that is too short.
func addMonths(t time.Time, months int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}
