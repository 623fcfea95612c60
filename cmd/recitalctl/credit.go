package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/google/uuid"
)

type creditAccount struct {
	Account    string `arg:"" help:"Id of the account."`
	Characters int64  `arg:"" help:"How many characters to grant: 1 to 1000000000."`
	Grant      string `placeholder:"ID" help:"An id of your choice, of letters, digits, dots, hyphens and underscores: a repetition with it grants nothing more."`
	Format     format `default:"table" enum:"table,json" help:"Form of the result: table or json."`
}

// grantedCredit is the admin API's description of a grant.
type grantedCredit struct {
	AccountID        string `json:"account_id"`
	Grant            string `json:"grant"`
	Characters       int64  `json:"characters"`
	CreditCharacters int64  `json:"credit_characters"`
}

// Run grants the credit. The id of the grant is chosen before the request, so that a request with an unknown outcome
// can be repeated.
func (c *creditAccount) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	if c.Grant == "" {
		c.Grant = uuid.NewString()
	}
	command := map[string]any{"characters": c.Characters, "grant": c.Grant}
	var granted grantedCredit
	got, err := admin.post(ctx, "/admin/accounts/"+url.PathEscape(c.Account)+"/credit", command, &granted)
	if err != nil {
		return c.failed(ctx, err)
	}
	if granted.Grant == "" {
		return admin.notUnderstood()
	}
	err = c.Format.print(to, granted, []string{"ACCOUNT ID", "GRANT", "CHARACTERS", "CREDIT LEFT"}, [][]string{{
		granted.AccountID, granted.Grant, strconv.FormatInt(granted.Characters, 10), strconv.FormatInt(granted.CreditCharacters, 10),
	}})
	if err != nil {
		return err
	}
	if got.header.Get("x-recital-stale") == "true" {
		fmt.Fprintln(to.notes, "The read models are behind: it may take a moment until the account shows the credit.")
	}
	return nil
}

func (c *creditAccount) failed(ctx context.Context, err error) error {
	var f *failure
	if ctx.Err() == nil && (!errors.As(err, &f) || !f.passing) {
		return fmt.Errorf("granting credit: %w", err)
	}
	return fmt.Errorf("granting credit: %w; repeat it with --grant %s, so that it counts once", err, c.Grant)
}
