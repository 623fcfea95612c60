package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
)

type listAccounts struct {
	Limit  int    `default:"100" help:"How many at most; 0: all."`
	After  string `placeholder:"ID" help:"Only accounts after this one."`
	Format format `default:"table" enum:"table,json,csv" help:"Form of the result: table, json or csv."`
}

// Help is shown below the flags.
func (*listAccounts) Help() string {
	return `Examples:
  recitalctl accounts list
  recitalctl accounts list --after 0190b0c0111172228333444455556666
  recitalctl accounts list --limit 0 --format csv

Accounts that are open, the oldest first, without personal data.`
}

// Validate is called by kong.
func (c *listAccounts) Validate() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit is 0 or more")
	}
	return nil
}

// listedAccount is the admin API's description of an account in a list.
type listedAccount struct {
	AccountID  string `json:"account_id"`
	OpenedAt   string `json:"opened_at"`
	Plan       string `json:"plan"`
	Subscribed bool   `json:"subscribed"`
	Operator   bool   `json:"operator"`
}

type accountsPage struct {
	Accounts []listedAccount `json:"accounts"`
	Next     *string         `json:"next_page_token"`
}

// maxAccountsPage is the largest page of the admin API.
const maxAccountsPage = 1000

// Run reads page by page.
func (c *listAccounts) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s.asAuditor())
	if err != nil {
		return err
	}
	all := accountsPage{Accounts: []listedAccount{}}
	for next := &c.After; next != nil && (c.Limit == 0 || len(all.Accounts) < c.Limit); next = all.Next {
		size := maxAccountsPage
		if c.Limit > 0 {
			size = min(size, c.Limit-len(all.Accounts))
		}
		query := url.Values{"limit": {strconv.Itoa(size)}, "page_token": {*next}}
		var page accountsPage
		if _, err := admin.get(ctx, "/admin/accounts/list?"+query.Encode(), &page); err != nil {
			return fmt.Errorf("listing accounts: %w", err)
		}
		if page.Accounts == nil {
			return admin.notUnderstood()
		}
		all.Accounts, all.Next = append(all.Accounts, page.Accounts...), page.Next
	}
	err = printColumns(c.Format, to, all, []column[listedAccount]{
		{name: "account_id", people: func(a listedAccount) string { return a.AccountID }},
		{name: "opened_at", people: func(a listedAccount) string { return a.OpenedAt }},
		{name: "plan", people: func(a listedAccount) string { return a.Plan }},
		{name: "subscribed", people: func(a listedAccount) string { return strconv.FormatBool(a.Subscribed) }},
		{name: "operator", people: func(a listedAccount) string { return strconv.FormatBool(a.Operator) }},
	}, all.Accounts)
	if err == nil && c.Format == table && all.Next != nil {
		fmt.Fprintf(to.notes, "\nThere are more: --after %s, or --limit 0\n", printable(*all.Next))
	}
	return err
}
