package app

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/http/web/quota"
	"github.com/recital-tts/recital/internal/speech/precheck/classic"
	writeapi "github.com/recital-tts/recital/writeapi/voices"
)

// longestChecked is the longest recording that is checked.
const longestChecked = time.Hour

// prechecker checks recordings before voices are made from them, as many at once as uploads are decoded.
func (p *parts) prechecker() (*writeapi.Prechecker, prometheus.Collector) {
	atOnce := runtime.NumCPU()
	checker := classic.New(classic.Config{Decoder: p.decoder, Longest: longestChecked, MostOnce: atOnce})
	running := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "recital_prechecks_running", Help: "Recordings that are being checked.",
	}, func() float64 { return float64(checker.Running()) })
	return &writeapi.Prechecker{Checker: checker, Places: quota.New(int64(atOnce), 1), MaxUpload: maxUpload}, running
}

// uploadsGauge measures what uploads hold.
func (p *parts) uploadsGauge() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "recital_upload_bytes", Help: "What uploads that are being received or answered claim of their budget.",
	}, func() float64 { return float64(p.uploads.Claimed()) })
}
