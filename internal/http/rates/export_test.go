package rates

// Remembered returns the number of buckets.
func (l *Limiter) Remembered() int { return l.accounts.Len() + l.free.Len() + l.addresses.Len() }
