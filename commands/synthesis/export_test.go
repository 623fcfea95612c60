package synthesis

// Busy returns the number of accounts in a Slots.
func (s *Slots) Busy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.accounts)
}

// Waiting returns the number of waiters for a slot of an account.
func (s *Slots) Waiting(account string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.accounts[account]; ok {
		return len(c.waiting)
	}
	return 0
}
