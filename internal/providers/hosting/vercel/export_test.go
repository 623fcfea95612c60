package vercel

import "net/http"

// Through sends requests another way.
func (p *Platform) Through(transport http.RoundTripper) { p.client.Transport = transport }
