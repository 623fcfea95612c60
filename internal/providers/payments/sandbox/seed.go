package sandbox

// plan is a product that every sandbox has.
type plan struct {
	name, title string
	amount      int64
	overage     string // thousandths of a cent for 1000 characters
}

const seededSetting = "seeded"

// seed makes the products, prices and the coupon that every sandbox has, once.
func (s *Sandbox) seed(w *work) error {
	var done bool
	if err := w.tx.Setting(seededSetting, &done); err != nil || done {
		return err
	}
	for _, p := range []plan{
		{name: "indie", title: "Indie", amount: 1000, overage: "5000"},
		{name: "pro", title: "Pro", amount: 4900, overage: "4500"},
		{name: "premium", title: "Premium", amount: 19900, overage: "3500"},
	} {
		if err := w.seedPlan(p); err != nil {
			return err
		}
	}
	welcome := &coupon{
		base: base{ID: WelcomeCoupon, Object: "coupon", Created: at(w.now), Metadata: map[string]string{}},
		Name: "Welcome", PercentOff: 20, Duration: "repeating", DurationInMonths: 3, Valid: true,
	}
	if err := w.save(welcome); err != nil {
		return err
	}
	return w.tx.SetSetting(seededSetting, true)
}

// WelcomeCoupon is the coupon that every sandbox has: 20 % off for 3 months.
const WelcomeCoupon = "WELCOME"

// PriceOf returns the price of a plan that every sandbox has: indie, pro or premium.
func PriceOf(plan string) string { return "price_" + plan }

func (w *work) seedPlan(p plan) error {
	sold := &product{
		base:   base{ID: "prod_" + p.name, Object: "product", Created: at(w.now), Metadata: map[string]string{"plan": p.name}},
		Active: true, Name: p.title, DefaultPrice: text(PriceOf(p.name)), Images: []string{}, Type: "service", Updated: at(w.now),
	}
	costs := &price{
		base: base{ID: PriceOf(p.name), Object: "price", Created: at(w.now), Metadata: map[string]string{
			"plan": p.name, "overage_millis": p.overage, "overage_unit": "1000",
		}},
		Active: true, BillingScheme: "per_unit", Currency: "usd", Product: text(sold.ID), Type: "recurring",
		UnitAmount: p.amount, Recurring: &recurring{Interval: "month", IntervalCount: 1, UsageType: "licensed"},
	}
	return w.save(sold, costs)
}
