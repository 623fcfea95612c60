package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// minToken is the length of the shortest token that is accepted, in characters: 128 bits in hex.
const minToken = 32

// readTokens finds the admin tokens by role. It comes before anything is opened that a refusal would leave changed.
func (a *App) readTokens(context.Context) error {
	a.tokens = map[string]string{}
	for _, file := range []struct{ role, configured string }{
		{"operator", a.cfg.OperatorTokenFile}, {"auditor", a.cfg.AuditorTokenFile},
	} {
		token, err := a.adminToken(file.role+"-token", file.configured)
		if err != nil {
			return err
		}
		a.tokens[file.role] = token
	}
	if a.tokens["operator"] == a.tokens["auditor"] {
		return errors.New("operators and auditors have the same token; each role needs one of its own")
	}
	return nil
}

// adminToken is that of the configured file, or of the data folder.
func (a *App) adminToken(name, configured string) (string, error) {
	token, path, err := a.secretText(name, configured)
	if err != nil {
		return "", err
	}
	if !usableToken(token) {
		return "", fmt.Errorf("%s holds no token: at least %d characters of ASCII without spaces are needed, such as those that "+
			"openssl rand -hex 32 prints; in a data folder, delete it, and the next start makes a new one", path, minToken)
	}
	return token, nil
}

// usableToken tells whether a token is long enough and fits into a header.
func usableToken(token string) bool {
	unfit := func(c rune) bool { return c <= ' ' || c > '~' }
	return len(token) >= minToken && !strings.ContainsFunc(token, unfit)
}
