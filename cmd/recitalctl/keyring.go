package main

import (
	"context"
	"fmt"
)

type keyrings struct {
	Show    showKeyring    `cmd:"" default:"withargs" help:"Show the ids of the log's keyring and of the one in Postgres."`
	Import  importKeyring  `cmd:"" help:"Import the keyring from a backup, after Postgres was lost while the log stayed."`
	Abandon abandonKeyring `cmd:"" help:"Give the log's keyring up for the one in Postgres: what it sealed (texts of clips, feedback) is lost for ever."`
}

// keyringIDs is the admin API's description of the keyrings.
type keyringIDs struct {
	Log      string `json:"log"`
	Postgres string `json:"postgres"`
}

func (ids keyringIDs) print(f format, to terminal) error {
	return f.print(to, ids, []string{"OF THE LOG", "IN POSTGRES"}, [][]string{{orNone(ids.Log), orNone(ids.Postgres)}})
}

func orNone(id string) string {
	if id == "" {
		return "none"
	}
	return id
}

type showKeyring struct {
	Format format `default:"table" enum:"table,json" help:"Form of the result: table or json."`
}

// Run prints both ids, and what to do if they differ.
func (c *showKeyring) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	var ids keyringIDs
	if _, err := admin.get(ctx, "/admin/keyring", &ids); err != nil {
		return fmt.Errorf("looking at the keyring: %w", err)
	}
	if err := ids.print(c.Format, to); err != nil || ids.Log == ids.Postgres {
		return err
	}
	fmt.Fprintf(to.notes, "\nThis Postgres is not used. Import the keyring %[1]s from a backup (recitalctl keyring import DIR), or give up for ever what it sealed "+
		"(texts of clips, feedback): recitalctl keyring abandon %[1]s --reason TEXT\n", printable(ids.Log))
	return nil
}

type abandonKeyring struct {
	ID     string `arg:"" name:"id" help:"Id of the log's keyring, as recitalctl keyring shows it."`
	Format format `default:"table" enum:"table,json" help:"Form of the result: table or json."`
}

// Run gives the keyring up.
func (c *abandonKeyring) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	var ids keyringIDs
	if _, err := admin.post(ctx, "/admin/keyring/abandon", map[string]string{"keyring": c.ID}, &ids); err != nil {
		return fmt.Errorf("abandoning the keyring: %w", err)
	}
	return ids.print(c.Format, to)
}
