package main

import (
	"context"
	"fmt"
	"net/url"
)

type createAccount struct {
	Plan   string `default:"free" help:"free, indie, pro, premium or enterprise."`
	Format format `default:"table" enum:"table,json" help:"Form of the result: table or json."`
}

// openedAccount is the admin API's description of a newly opened account.
type openedAccount struct {
	AccountID string `json:"account_id"`
	Plan      string `json:"plan"`
	APIKey    string `json:"apikey"`
	Masked    string `json:"masked"`
}

// Run opens the account.
func (c *createAccount) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	var opened openedAccount
	got, err := admin.post(ctx, "/admin/accounts", map[string]string{"plan": c.Plan}, &opened)
	if err != nil {
		return fmt.Errorf("opening an account: %w", err)
	}
	if opened.APIKey == "" {
		return admin.notUnderstood()
	}
	err = c.Format.print(to, opened, []string{"ACCOUNT ID", "PLAN", "API KEY"}, [][]string{{opened.AccountID, opened.Plan, opened.APIKey}})
	if err != nil {
		return err
	}
	if c.Format == table {
		fmt.Fprintln(to.notes, "\nThe API key is shown this once and cannot be shown again: keep it now.")
	}
	if got.header.Get("x-recital-stale") == "true" {
		fmt.Fprintln(to.notes, "The read models are behind: it may take a moment until the key is accepted.")
	}
	return nil
}

type closeAccount struct {
	Account string `arg:"" help:"Id of the account."`
	Yes     bool   `help:"Do not ask."`
}

// Help is shown below the flags.
func (*closeAccount) Help() string {
	return `Examples:
  recitalctl accounts close 0190b0c0111172228333444455556666 --reason "Ticket 7"`
}

// Run asks for confirmation and closes the account.
func (c *closeAccount) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	if err := to.confirm(ctx, c.Yes, fmt.Sprintf("Close account %s and erase what belongs to it, for good?", printable(c.Account))); err != nil {
		return err
	}
	if _, err := admin.remove(ctx, "/admin/accounts/"+url.PathEscape(c.Account), &struct{}{}); err != nil {
		return fmt.Errorf("closing an account: %w", err)
	}
	fmt.Fprintln(to.notes, "Closed; recitalctl accounts erasure shows what is erased.")
	return nil
}
