package alert

// Advice returns what to do about an alert, in sentences. It is short: docs/alerts.md says more.
func (o Open) Advice() string {
	if advice, known := advices[o.Reason]; known {
		return advice
	}
	return "See docs/alerts.md."
}

var advices = map[Reason]string{
	GaveUp:       "The log of the instance says what failed. The alert ends when the item is done.",
	Stopped:      "Look at the parked event. After a fix retry it, or skip it with a reason.",
	Parked:       "Look at the parked event. After a fix retry it, or skip it with a reason.",
	Outdated:     "Go on with the upgrade, or skip the event with a reason.",
	TakenOver:    "See whether two instances have one name (host and data folder), then clear this.",
	NotFed:       "Rebuild the read model.",
	NoAppends:    "Most often the disk of the event store is full: make room. Nothing has to be restarted.",
	Unpaid:       "Tell the customer, then clear this.",
	Uncollected:  "Tell the customer. The alert ends when the invoice is paid, void or uncollectible.",
	DisputeLost:  "Decide whether the account keeps its plan, then clear this.",
	Doubled:      "End one of the two subscriptions at the payment provider, and refund it.",
	Behind:       "See whether the read model is being rebuilt, or Postgres is slow.",
	Unreachable:  "See whether it runs, and whether the instance named can reach it.",
	CrashLoop:    "The log says what the workers die of: memory, a binary that does not fit, or a text.",
	Failing:      "The log says what the syntheses fail of, and the parts of the instance whether workers run.",
	Refused:      "Compare the secret of the webhooks with the payment provider's page of the endpoint.",
	DiskFull:     "Make room on the disk, or enlarge it. When it is full, the event store takes nothing.",
	Unsettled:    "See whether an instance works its to-dos.",
	Unreconciled: "The log says why the provider could not be compared with. It is tried again every hour.",
	ChainBroken:  "Keep the log as it is, check it, and compare it with a backup.",
	PutBack: "Stop all instances and put the newest copy of the log back, or restore the last backup. " +
		"Clear this to go on without the events.",
	Expiring: "Renew the certificate. The alert ends within ten minutes.",
}
