package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
)

type grantOperator struct{ roleOfOperator }

type withdrawOperator struct{ roleOfOperator }

// roleOfOperator is the argument of both.
type roleOfOperator struct {
	Account string `arg:"" help:"Id of the account."`
	Format  format `default:"table" enum:"table,json" help:"Form of the result: table or json."`
}

// operatorState is the admin API's description of who is an operator.
type operatorState struct {
	AccountID string `json:"account_id"`
	Operator  bool   `json:"operator"`
}

// Run grants the role.
func (c *grantOperator) Run(ctx context.Context, s settings, to terminal) error {
	return c.change(s, to, "granting the role of an operator", func(admin *client, path string, state *operatorState) (answer, error) {
		return admin.post(ctx, path, struct{}{}, state)
	})
}

// Run withdraws the role.
func (c *withdrawOperator) Run(ctx context.Context, s settings, to terminal) error {
	return c.change(s, to, "withdrawing the role of an operator", func(admin *client, path string, state *operatorState) (answer, error) {
		return admin.remove(ctx, path, state)
	})
}

func (c *roleOfOperator) change(s settings, to terminal, doing string, send func(*client, string, *operatorState) (answer, error)) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	var state operatorState
	got, err := send(admin, "/admin/accounts/"+url.PathEscape(c.Account)+"/operator", &state)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if state.AccountID == "" {
		return admin.notUnderstood()
	}
	err = c.Format.print(to, state, []string{"ACCOUNT ID", "OPERATOR"}, [][]string{{state.AccountID, strconv.FormatBool(state.Operator)}})
	if err == nil && got.header.Get("x-recital-stale") == "true" {
		fmt.Fprintln(to.notes, "The read models are behind: it may take a moment until the account shows it.")
	}
	return err
}
