package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
)

type erasureOf struct {
	Account string `arg:"" help:"Id of the account."`
	Format  format `default:"table" enum:"table,json" help:"Form of the result: table or json."`
}

// erasureShown is the admin API's description of what became of a closed account.
type erasureShown struct {
	AccountID    string  `json:"account_id"`
	State        string  `json:"state"`
	Complete     bool    `json:"complete"`
	ClosedAt     *string `json:"closed_at"`
	ErasedAt     *string `json:"erased_at"`
	AgainAt      *string `json:"erased_again_due"`
	RepeatedAt   *string `json:"erased_again_at"`
	KeyDestroyed *string `json:"key_destroyed_at"`
	Left         []struct {
		What  string `json:"what"`
		Count int64  `json:"count"`
	} `json:"left"`
}

// Run prints what was erased and what is left to do.
func (c *erasureOf) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s.asAuditor())
	if err != nil {
		return err
	}
	var found erasureShown
	if _, err := admin.get(ctx, "/admin/accounts/"+url.PathEscape(c.Account)+"/erasure", &found); err != nil {
		return fmt.Errorf("reading what was erased: %w", err)
	}
	rows := [][]string{
		{"the account", found.State, orDash(found.ClosedAt)},
		{"what belonged to it", done(found.ErasedAt, "erased", "not erased yet"), orDash(found.ErasedAt)},
		{"its key, without which all that is left is unreadable", done(found.KeyDestroyed, "destroyed", "there, or never made"), orDash(found.KeyDestroyed)},
		{"what requests may have left that were still running", done(found.RepeatedAt, "erased", "due "+orDash(found.AgainAt)), orDash(found.RepeatedAt)},
	}
	for _, left := range found.Left {
		rows = append(rows, []string{left.What, strconv.FormatInt(left.Count, 10) + " left", "-"})
	}
	return c.Format.print(to, found, []string{"WHAT", "STATE", "SINCE"}, rows)
}

func done(at *string, yes, no string) string {
	if at == nil {
		return no
	}
	return yes
}

func orDash(text *string) string {
	if text == nil {
		return "-"
	}
	return *text
}
