package readmodel

// Billing is the read model of subscriptions: what the payment provider has for an account, and what is to be done about it.
var Billing = Model{Name: "billing", Version: 1}

// SubscriptionsView has a row for each subscription, those that have ended included.
var SubscriptionsView = View{Model: Billing, Name: "subscriptions", Columns: []Column{
	{"subscription_id", Text},
	{"account_id", Text},
	{"number", Bigint}, // later ones of the account have higher ones
	{"price_id", Text},
	{"plan", Text},
	{"status", Text}, // the provider's
	{"period_start", Timestamptz},
	{"period_end", Timestamptz},
	{"cancel_at", Timestamptz},      // NULL: it goes on
	{"scheduled_price", Text},       // of a change that takes effect later; NULL: there is none
	{"scheduled_plan", Text},        // NULL as scheduled_price
	{"scheduled_from", Timestamptz}, // NULL as scheduled_price
	{"ended_at", Timestamptz},       // NULL: it has not ended
}}

// CustomersView has a row for each customer at the payment provider.
var CustomersView = View{Model: Billing, Name: "customers", Columns: []Column{
	{"customer_id", Text},
	{"account_id", Text},
}}

// CardsView has a row for each account with a card that pays. What is bytea is sealed with the account's key, for
// subscription.SealedForCard.
var CardsView = View{Model: Billing, Name: "cards", Columns: []Column{
	{"account_id", Text},
	{"payment_method", Text},
	{"brand", Bytea},
	{"last4", Bytea},
}}

// InvoicesView has a row for each invoice. What is bytea is sealed with the account's key, for subscription.SealedForInvoice.
var InvoicesView = View{Model: Billing, Name: "invoices", Columns: []Column{
	{"invoice_id", Text},
	{"account_id", Text},
	{"number", Text}, // NULL: none yet
	{"status", Text},
	{"amount_due", Bigint}, // in minor units of the currency
	{"amount_paid", Bigint},
	{"currency", Text},
	{"page", Bytea}, // NULL: there is none
	{"pdf", Bytea},  // NULL: there is none
	{"created_at", Timestamptz},
}}

// ToDoCompleteRequestView is the to-do list of the requests to the provider that have no outcome. An item is the request;
// its cause is the event that recorded it.
var ToDoCompleteRequestView = View{Model: Billing, Name: "todo_complete_request", Columns: ToDoColumns()}

// ToDoDunningView is the to-do list of subscriptions whose payment is missing, due when the grace ends. The cause is the event
// that recorded it.
var ToDoDunningView = View{Model: Billing, Name: "todo_dunning", Columns: ToDoColumns()}

// Notices is the read model of the payment provider's notices.
var Notices = Model{Name: "notices", Version: 1}

// ToDoPaymentView is the to-do list of the notices that were not handled. An item is the provider's id of the event; its cause
// is our event that recorded it.
var ToDoPaymentView = View{Model: Notices, Name: "todo_payment", Columns: ToDoColumns()}

// Catalogue is the read model of prices.
var Catalogue = Model{Name: "catalogue", Version: 1}

// PricesView has a row for each price that was ever on sale. Amounts are in minor units of the currency.
var PricesView = View{Model: Catalogue, Name: "prices", Columns: []Column{
	{"price_id", Text},
	{"name", Text}, // of the product
	{"plan", Text},
	{"amount", Bigint}, // by the month
	{"currency", Text},
	{"overage_millis", Bigint}, // thousandths of a minor unit, for overage_unit characters
	{"overage_unit", Bigint},
	{"on_sale", Bool},
}}
