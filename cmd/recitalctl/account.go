package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

type showAccount struct {
	accountArgument
	AsOf moment `name:"as-of" placeholder:"TIME" help:"The time, such as 2026-11-22 15:04; by default now."`
	valueForm
}

// Help is shown below the flags.
func (*showAccount) Help() string {
	return `Examples:
  recitalctl accounts show 0190b0c0111172228333444455556666
  recitalctl accounts show 0190b0c0111172228333444455556666 --as-of "2026-11-01 12:00"

What is shown is folded from the account's streams of the log, as far as their events are not later than the time.`
}

// accountThen is the admin API's description of an account at a time.
type accountThen struct {
	AccountID     string     `json:"account_id"`
	AsOf          time.Time  `json:"as_of"`
	OpenedAt      time.Time  `json:"opened_at"`
	State         string     `json:"state"`
	Plan          string     `json:"plan"`
	EntitledUntil *time.Time `json:"entitled_until"`
	Operator      bool       `json:"operator"`
	AcceptedTOS   bool       `json:"accepted_tos"`
	WantsEmail    *bool      `json:"wants_email"`
	APIKeys       []string   `json:"api_keys"`
	Subscription  *struct {
		ID          string     `json:"id"`
		Status      string     `json:"status"`
		Plan        string     `json:"plan"`
		Price       string     `json:"price"`
		PeriodStart time.Time  `json:"period_start"`
		PeriodEnd   time.Time  `json:"period_end"`
		CancelAt    *time.Time `json:"cancel_at"`
	} `json:"subscription"`
	Usage *struct {
		Plan        string    `json:"plan"`
		PeriodStart time.Time `json:"period_start"`
		PeriodEnd   time.Time `json:"period_end"`
		Limit       *int64    `json:"character_limit"`
		Characters  int64     `json:"characters"`
		Reserved    int64     `json:"reserved"`
		Credit      int64     `json:"credit_left"`
	} `json:"usage"`
	InstantVoices  int        `json:"instant_voices"`
	Professional   int        `json:"professional_voices"`
	SessionsBefore *time.Time `json:"sessions_ended_before"`
	From           []struct {
		Stream   string    `json:"stream"`
		Revision int64     `json:"revision"`
		At       time.Time `json:"at"`
	} `json:"folded_from"`
}

// Run shows the account.
func (c *showAccount) Run(ctx context.Context, admin auditor, to terminal) error {
	path := c.path("")
	if at := c.AsOf.String(); at != "" {
		path += "?as_of=" + url.QueryEscape(at)
	}
	var shown accountThen
	if err := admin.get(ctx, "reading the account", path, &shown); err != nil {
		return err
	}
	return c.Format.print(to, shown, []string{"ACCOUNT", shown.AccountID}, shown.rows())
}

// rows has a line for each thing that there is to say.
func (a accountThen) rows() [][]string {
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
