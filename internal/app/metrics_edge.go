package app

import (
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/http/web"
)

// observeServer shows what a server turns away before a route sees it.
func (m *metrics) observeServer(name string, stats func() web.Stats) {
	server := prometheus.Labels{"server": name}
	gauge := func(figure, help string, value func(web.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: figure, Help: help, ConstLabels: server},
			func() float64 { return value(stats()) })
	}
	m.registry.MustRegister(
		gauge("recital_http_bodies_bytes", "Bytes of requests' bodies in memory, as announced.", func(s web.Stats) float64 { return float64(s.Bodies) }),
		gauge("recital_http_sockets", "WebSockets of known accounts that are open.", func(s web.Stats) float64 { return float64(s.Sockets) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "recital_http_connections", Help: "Connections that are open.", ConstLabels: server,
		}, func() float64 { return float64(stats().Connections) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "recital_http_connections_evicted_total", Help: "Quiet connections that were closed to make room.", ConstLabels: server,
		}, func() float64 { return float64(stats().Evicted) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "recital_http_connections_refused_total", Help: "Connections that were closed unanswered, for want of room.", ConstLabels: server,
		}, func() float64 { return float64(stats().Refused) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "recital_http_bodies_refused_total", Help: "Requests whose bodies found no room in memory.", ConstLabels: server,
		}, func() float64 { return float64(stats().RefusedBodies) }),
	)
}

// countedRates counts what rates refuse.
type countedRates struct {
	web.Rates
	accounts, addresses prometheus.Counter
}

// countRates shows how often a server's rates refuse; nil stays nil.
func (m *metrics) countRates(server string, rates web.Rates) web.Rates {
	if rates == nil {
		return nil
	}
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "recital_http_rates_refused_total", Help: "Requests over the rate of their account, or of their address.",
		ConstLabels: prometheus.Labels{"server": server},
	}, []string{"of"})
	m.registry.MustRegister(refused)
	return countedRates{Rates: rates, accounts: refused.WithLabelValues("account"), addresses: refused.WithLabelValues("address")}
}

// Account implements web.Rates.
func (r countedRates) Account(id, plan string) bool {
	permitted := r.Rates.Account(id, plan)
	if !permitted {
		r.accounts.Inc()
	}
	return permitted
}

// Address implements web.Rates.
func (r countedRates) Address(address netip.Addr) bool {
	permitted := r.Rates.Address(address)
	if !permitted {
		r.addresses.Inc()
	}
	return permitted
}
