package app

import (
	"fmt"
	"io"
)

// Welcome prints what a person needs to begin. Without secrets, and in mode prod, it prints none: the output ends up in
// logs.
func (a *App) Welcome(out io.Writer, secrets bool) {
	if a.cfg.Mode == modeProd {
		fmt.Fprintf(out, "Recital is running: address http://%s, admin http://%s\n", a.PublicAddr(), a.AdminAddr())
		return
	}
	key, example := a.devKey+"  (also in "+a.folder.Path(devKeyFile)+")", a.devKey
	switch {
	case a.devKey == "":
		key, example = a.noDevKey, "$KEY"
	case !secrets:
		key, example = "in "+a.folder.Path(devKeyFile), "$KEY"
	}
	fmt.Fprintf(out, `
Recital is running.

  address      http://%[1]s
  try it       http://%[1]s/docs
  sign in      http://%[1]s/auth/oauth/login?provider=idp_1&redirect=http%%3A%%2F%%2F%[1]s%%2Fdocs
  admin        http://%[2]s  (recitalctl uses it)
  payments     %[6]s
  hosting      %[7]s
  data folder  %[3]s
  API key      %[4]s

Make hello.mp3:

  curl -sS http://%[1]s/v1/ai/speech/bytes -H 'x-api-key: %[5]s' -H 'content-type: application/json' -d '{"text": "Hello world. This is Recital.", "voice": "leah"}' -o hello.mp3

Ctrl-C stops everything; the data stays.
`, a.PublicAddr(), a.AdminAddr(), a.cfg.DataDir, key, example, a.paymentsAt(), a.platformAt())
}
