package accounts

import "io"

// DrawFrom makes keys come from a source.
func (a *Accounts) DrawFrom(random io.Reader) { a.random = random }
