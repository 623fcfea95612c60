package app

import (
	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/internal/payments"
	"github.com/recital-tts/recital/internal/payments/sandbox"
	"github.com/recital-tts/recital/internal/rates"
	"github.com/recital-tts/recital/internal/web"
)

// PublicRoutes returns the rows of all slices for the public address.
func (a *App) PublicRoutes() []web.Route { return a.service.public }

// Rates returns the rates that the configuration sets.
func (c Config) Rates() (rates.Limits, error) { return c.rates() }

// Payments returns the gateway to the payment provider.
func (a *App) Payments() payments.Gateway { return a.payments }

// Notices returns what verifies the payment provider's notices.
func (a *App) Notices() payments.Notice { return a.notices.payments }

// Sandbox returns the payment provider for development, nil where another is used.
func (a *App) Sandbox() *sandbox.Sandbox { return a.sandbox }

// Accounts returns the commands on accounts.
func (a *App) Accounts() *accounts.Accounts { return a.accounts }

// Sessions returns the commands on sessions.
func (a *App) Sessions() *sessions.Sessions { return a.sessions }
