package pronunciations

// KeepAtMost sets how many entries are kept in memory.
func (p *Pronunciations) KeepAtMost(entries int) { p.most = int64(entries) }

// Kept returns the number of entries that are kept in memory.
func (p *Pronunciations) Kept() (sum int64) {
	for _, o := range p.opened.Values() {
		sum += o.size.Load()
	}
	return sum
}
