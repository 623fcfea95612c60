package app

import (
	"context"

	"github.com/recital-tts/recital/internal/operators"
)

// readTokens reads the tokens of the admin address. It comes before anything is opened that a refusal would leave changed.
func (a *App) readTokens(context.Context) (err error) {
	var files []operators.File
	for _, f := range []struct{ role, configured string }{
		{operators.Operator, a.cfg.OperatorTokenFile}, {operators.Auditor, a.cfg.AuditorTokenFile},
	} {
		text, path, err := a.secretText(f.role+"-token", f.configured)
		if err != nil {
			return err
		}
		files = append(files, operators.File{Path: path, Role: f.role, Text: text})
	}
	a.tokens, err = operators.Parse(files...)
	return err
}
