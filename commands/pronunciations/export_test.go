package pronunciations

// KeepAtMost sets the maximum number of cached entries.
func (p *Pronunciations) KeepAtMost(entries int) { p.most = int64(entries) }

// Kept returns the number of cached entries.
func (p *Pronunciations) Kept() (sum int64) {
	for _, o := range p.opened.Values() {
		sum += o.size.Load()
	}
	return sum
}
