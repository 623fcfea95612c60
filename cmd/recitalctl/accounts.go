package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/http/adminapi"
)

// accountArgument is the argument of commands on an account.
type accountArgument struct {
	Account string `arg:"" help:"Id of the account."`
}

// path returns the path of the account with part appended.
func (a accountArgument) path(part string) string {
	return "/admin/accounts/" + url.PathEscape(a.Account) + part
}

type listAccounts struct {
	Limit int    `default:"100" help:"Maximum number; 0 means all."`
	After string `placeholder:"ID" help:"Only accounts after this one."`
	listForm
}

// Help implements kong.HelpProvider.
func (*listAccounts) Help() string {
	return `Examples:
  recitalctl accounts list
  recitalctl accounts list --after 0190b0c0111172228333444455556666
  recitalctl accounts list --limit 0 --format csv

Accounts that are open, the oldest first, without personal data.`
}

// Validate implements kong's check of arguments.
func (c *listAccounts) Validate() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit is 0 or more")
	}
	return nil
}

// maxAccountsPage is the admin API's maximum.
const maxAccountsPage = 1000

// Run prints the accounts.
func (c *listAccounts) Run(ctx context.Context, admin auditor, to terminal) error {
	all := adminapi.AccountsPage{Accounts: []adminapi.ListedAccount{}}
	list := listing{
		"listing accounts", "/admin/accounts/list", queryOf(map[string]string{"page_token": c.After}), "page_token", c.Limit,
		maxAccountsPage,
	}
	size := func(p adminapi.AccountsPage) (int, *string) { return len(p.Accounts), p.Next }
	for page, err := range pages(ctx, admin.client, list, size) {
		if err != nil {
			return err
		}
		all.Accounts, all.Next = append(all.Accounts, page.Accounts...), page.Next
	}
	err := show(c.Format, to, all, all.Accounts)
	if err == nil && c.Format == table && all.Next != nil {
		fmt.Fprintf(to.notes, "\nThere are more: --after %s, or --limit 0\n", printable(*all.Next))
	}
	return err
}

type findAccounts struct {
	Email string `required:"" placeholder:"ADDRESS" help:"E-mail address of the owner."`
	listForm
}

// Run prints open accounts.
func (c *findAccounts) Run(ctx context.Context, admin auditor, to terminal) error {
	if err := admin.needsReason(); err != nil {
		return err
	}
	path := "/admin/audit/accounts?" + url.Values{"email": {c.Email}, "reason": {admin.Reason}}.Encode()
	found, err := get[adminapi.FoundAccounts](ctx, admin.client, "looking the address up", path)
	return showList(c.Format, to, found, found.Accounts, err)
}

type createAccount struct {
	Plan string `default:"free" help:"free, indie, pro, premium or enterprise."`
	valueForm
}

// Run opens the account.
func (c *createAccount) Run(ctx context.Context, admin *client, to terminal) error {
	command := map[string]string{"plan": c.Plan}
	opened, err := post[adminapi.OpenResponse](ctx, admin, "opening an account", "/admin/accounts", command)
	err = showOne(c.Format, to, opened, err)
	if c.Format != table {
		return err
	}
	return to.report(err, "\nStore the API key now. It cannot be shown again.")
}

type closeAccount struct {
	accountArgument
	Yes bool `help:"Do not ask."`
}

// Help implements kong.HelpProvider.
func (*closeAccount) Help() string {
	return `Examples:
  recitalctl accounts close 0190b0c0111172228333444455556666 --reason "Ticket 7"`
}

// Run asks for confirmation and closes the account.
func (c *closeAccount) Run(ctx context.Context, admin *client, to terminal) error {
	question := fmt.Sprintf("Permanently close account %s and erase its data?", printable(c.Account))
	if err := to.confirm(ctx, c.Yes, question); err != nil {
		return err
	}
	_, err := remove[struct{}](ctx, admin, "closing an account", c.path(""))
	return to.report(err, "Closed. Follow the erasure with recitalctl accounts erasure.")
}

type creditAccount struct {
	accountArgument
	Characters int64  `arg:"" help:"How many characters to grant: 1 to 1000000000."`
	Grant      string `placeholder:"ID" help:"${credit_account_grant}"`
	valueForm
}

// Run grants the credit. It chooses the id of the grant before the request, so that a request with an unknown outcome
// can be repeated.
func (c *creditAccount) Run(ctx context.Context, admin *client, to terminal) error {
	if c.Grant == "" {
		c.Grant = uuid.NewString()
	}
	command := map[string]any{"characters": c.Characters, "grant": c.Grant}
	granted, err := post[adminapi.CreditResponse](ctx, admin, "granting credit", c.path("/credit"), command)
	if err != nil && (ctx.Err() != nil || isPassing(err)) {
		return fmt.Errorf("%w; repeat it with --grant %s, so that it counts once", err, c.Grant)
	}
	return showOne(c.Format, to, granted, err)
}

type erasureOf struct {
	accountArgument
	valueForm
}

// Run prints the progress of the erasure.
func (c *erasureOf) Run(ctx context.Context, admin auditor, to terminal) error {
	found, err := get[adminapi.ErasureReply](ctx, admin.client, "reading what was erased", c.path("/erasure"))
	if err != nil {
		return err
	}
	rows := [][]string{
		{"the account", found.State, orDash(found.ClosedAt)},
		{"its data", done(found.ErasedAt, "erased", "not erased yet"), orDash(found.ErasedAt)},
		{"its key, which remaining data is sealed with",
			done(found.KeyDestroyed, "destroyed", "not destroyed, or never created"), orDash(found.KeyDestroyed)},
		{"data of requests that were still running",
			done(found.RepeatedAt, "erased", "due "+orDash(found.AgainAt)), orDash(found.RepeatedAt)},
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

type grantOperator struct {
	accountArgument
	valueForm
}

// Run grants the role.
func (c *grantOperator) Run(ctx context.Context, admin *client, to terminal) error {
	const doing = "granting the role of an operator"
	state, err := post[adminapi.OperatorResponse](ctx, admin, doing, c.path("/operator"), struct{}{})
	return showOne(c.Format, to, state, err)
}

type withdrawOperator struct {
	accountArgument
	valueForm
}

// Run withdraws the role.
func (c *withdrawOperator) Run(ctx context.Context, admin *client, to terminal) error {
	const doing = "withdrawing the role of an operator"
	state, err := remove[adminapi.OperatorResponse](ctx, admin, doing, c.path("/operator"))
	return showOne(c.Format, to, state, err)
}

type showAccount struct {
	accountArgument
	AsOf moment `name:"as-of" placeholder:"TIME" help:"The time, such as 2026-11-22 15:04; by default now."`
	valueForm
}

// Help implements kong.HelpProvider.
func (*showAccount) Help() string {
	return `Examples:
  recitalctl accounts show 0190b0c0111172228333444455556666
  recitalctl accounts show 0190b0c0111172228333444455556666 --as-of "2026-11-01 12:00"

The account is folded from the events of its streams up to that time.`
}

// Run prints the account.
func (c *showAccount) Run(ctx context.Context, admin auditor, to terminal) error {
	path := c.path("")
	if at := c.AsOf.String(); at != "" {
		path += "?as_of=" + url.QueryEscape(at)
	}
	shown, err := get[adminapi.AccountAsOf](ctx, admin.client, "reading the account", path)
	if err != nil {
		return err
	}
	return c.Format.print(to, shown, []string{"ACCOUNT", shown.AccountID}, rowsOfAccount(shown))
}

// rowsOfAccount returns the rows of the table.
func rowsOfAccount(a adminapi.AccountAsOf) [][]string {
	rows := [][]string{
		{"as of", local(a.AsOf)}, {"state", a.State}, {"opened", local(a.OpenedAt)},
		{"plan", a.Plan + untilTime(a.EntitledUntil)},
		{"operator", yesOrNo(a.Operator)}, {"terms accepted", yesOrNo(a.AcceptedTOS)},
	}
	if a.WantsEmail != nil {
		rows = append(rows, []string{"wants e-mail", yesOrNo(*a.WantsEmail)})
	}
	for _, key := range a.APIKeys {
		rows = append(rows, []string{"API key", key})
	}
	if s := a.Subscription; s != nil {
		rows = append(rows, []string{
			"subscription", fmt.Sprintf("%s, %s, plan %s at price %s", s.ID, s.Status, s.Plan, s.Price),
		},
			[]string{"paid", local(s.PeriodStart) + " to " + local(s.PeriodEnd)})
		if s.CancelAt != nil {
			rows = append(rows, []string{"ends", local(*s.CancelAt)})
		}
	}
	if u := a.Usage; u != nil {
		limit := "no limit"
		if u.Limit != nil {
			limit = "of " + strconv.FormatInt(*u.Limit, 10)
		}
		rows = append(rows, []string{"period", local(u.PeriodStart) + " to " + local(u.PeriodEnd) + ", plan " + u.Plan},
			[]string{
				"characters", fmt.Sprintf("%d %s, %d reserved, %d of credit left", u.Characters, limit, u.Reserved, u.Credit),
			})
	}
	rows = append(rows, []string{"voices", fmt.Sprintf("%d instant, %d professional", a.InstantVoices, a.Professional)})
	if a.SessionsBefore != nil {
		rows = append(rows, []string{"sessions ended", "all that were opened until " + local(*a.SessionsBefore)})
	}
	for _, seen := range a.From {
		rows = append(rows, []string{
			"folded from", fmt.Sprintf("%s, until revision %d of %s", seen.Stream, seen.Revision, local(seen.At)),
		})
	}
	return rows
}

func local(t time.Time) string { return t.Local().Format(time.DateTime) }

func untilTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return ", until " + local(*t)
}

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
