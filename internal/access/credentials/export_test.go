package credentials

import "github.com/recital-tts/recital/internal/events/eventlog"

// Take hands the Watcher a delivery, as its subscription does.
func (w *Watcher) Take(d eventlog.Delivery) { w.take(d) }

// ReadAccountsFrom exchanges what the watcher reads accounts from.
func (w *Watcher) ReadAccountsFrom(accounts Accounts) { w.cfg.Accounts = accounts }

// ReadSessionsFrom exchanges what the watcher reads sessions from.
func (w *Watcher) ReadSessionsFrom(sessions Sessions) { w.cfg.Sessions = sessions }
