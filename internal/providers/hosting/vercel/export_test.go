package vercel

import "net/http"

// Through sends requests through another transport.
func (p *Platform) Through(transport http.RoundTripper) { p.client.Transport = transport }
