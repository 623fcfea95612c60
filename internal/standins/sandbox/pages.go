package sandbox

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"html/template"
	"net/http"
)

// cardPath begins the paths of the pages on which cards pay and are registered.
const cardPath = "/pages/cards/"

// CardPage returns the address of the page on which a person pays a payment intent, or registers a card.
func (s *Sandbox) CardPage(clientSecret string) string { return s.URL() + cardPath + clientSecret }

// pages serves the pages for people. Whoever has an address may see the page, as at Stripe.
func (s *Sandbox) pages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.showOverview)
	mux.HandleFunc("GET /cards/{secret}", s.showCard)
	mux.HandleFunc("POST /cards/{secret}", s.takeCard)
	mux.HandleFunc("GET /invoices/{id}", s.showInvoice)
	return mux
}

// layout is common to all pages. No script but tellOpener runs in them, and nothing is fetched from elsewhere.
const layout = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}} (payment sandbox)</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 34rem; margin: 3rem auto; padding: 0 1rem; color: #222 }
header { color: #666; border-bottom: 1px solid #ddd; margin-bottom: 1.5rem }
label { display: block; margin: 1rem 0 }
input { display: block; width: 100%; box-sizing: border-box; font: inherit; padding: .5rem }
button { font: inherit; padding: .5rem 1.2rem; margin-right: .5rem }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 }
td, th { text-align: left; padding: .3rem .5rem .3rem 0; border-bottom: 1px solid #eee; vertical-align: top }
td.amount, th.amount { text-align: right; white-space: nowrap }
.refused { color: #a00 }
.done { color: #060 }
</style>
</head>
<body>
<header>Payment sandbox: no money moves here</header>
<main>
<h1>{{.Title}}</h1>
{{template "content" .}}
</main>
</body>
</html>
`

func newPage(content string) *template.Template {
	return template.Must(template.Must(template.New("page").Parse(layout)).New("content").Parse(content)).Lookup("page")
}

// show sends a page.
func show[T any](w http.ResponseWriter, status int, page *template.Template, content T) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer") // the address is a secret
	script := sha256.Sum256([]byte(tellOpener))
	w.Header().Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-"+base64.StdEncoding.EncodeToString(script[:])+
			"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	w.WriteHeader(status)
	_ = page.Execute(w, content) // an error means that the browser has gone
}

// view reads the content of a page. If there is no such page, it answers the request and returns false.
func view[T any](s *Sandbox, w http.ResponseWriter, read func(*work) (T, error)) (content T, ok bool) {
	err := s.read(func(w *work) (err error) {
		content, err = read(w)
		return err
	})
	var p *problem
	switch {
	case errors.As(err, &p):
		http.Error(w, "There is no such page", http.StatusNotFound)
	case err != nil:
		s.config.Logger.Error("the payment sandbox cannot show a page", "error", err)
		http.Error(w, "The sandbox has failed", http.StatusInternalServerError)
	}
	return content, err == nil
}
