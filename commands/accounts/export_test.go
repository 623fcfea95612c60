package accounts

import "io"

// DrawFrom sets the random source of keys.
func (a *Accounts) DrawFrom(random io.Reader) { a.random = random }
