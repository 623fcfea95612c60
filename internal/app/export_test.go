package app

import (
	"github.com/recital-tts/recital/internal/rates"
	"github.com/recital-tts/recital/internal/web"
)

// PublicRoutes returns the rows of all slices for the public address.
func (a *App) PublicRoutes() []web.Route { return a.service.public }

// Rates returns the rates that the configuration sets.
func (c Config) Rates() (rates.Limits, error) { return c.rates() }
