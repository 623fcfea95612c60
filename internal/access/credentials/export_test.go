package credentials

import "github.com/recital-tts/recital/internal/events/eventlog"

// Take passes a delivery to the watcher, as its subscription does.
func (w *Watcher) Take(d eventlog.Delivery) { w.take(d) }

// ReadAccountsFrom replaces the source of accounts.
func (w *Watcher) ReadAccountsFrom(accounts Accounts) { w.cfg.Accounts = accounts }

// ReadSessionsFrom replaces the source of sessions.
func (w *Watcher) ReadSessionsFrom(sessions Sessions) { w.cfg.Sessions = sessions }
