package app

import (
	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/internal/rates"
	"github.com/recital-tts/recital/internal/web"
)

// PublicRoutes returns the rows of all slices for the public address.
func (a *App) PublicRoutes() []web.Route { return a.service.public }

// Rates returns the rates that the configuration sets.
func (c Config) Rates() (rates.Limits, error) { return c.rates() }

// Accounts returns the commands on accounts.
func (a *App) Accounts() *accounts.Accounts { return a.accounts }

// Sessions returns the commands on sessions.
func (a *App) Sessions() *sessions.Sessions { return a.sessions }
