package main

import (
	"context"
	"fmt"

	"github.com/recital-tts/recital/internal/events/backup"
	"github.com/recital-tts/recital/internal/http/adminapi"
)

type keyrings struct {
	Show    showKeyring    `cmd:"" default:"withargs" help:"Show the ids of the log's keyring and of the one in Postgres."`
	Import  importKeyring  `cmd:"" help:"Import the keyring from a backup, after Postgres was lost while the log stayed."`
	Abandon abandonKeyring `cmd:"" help:"${keyrings_abandon}"`
}

// keyringIDs is the admin API's description of the keyrings.
type keyringIDs struct {
	Log      *string `json:"log" col:"of_the_log,none"`
	Postgres *string `json:"postgres" col:"in_postgres,none"`
}

type showKeyring struct{ valueForm }

// Run prints both ids, and advice if they differ.
func (c *showKeyring) Run(ctx context.Context, admin *client, to terminal) error {
	ids, err := get[keyringIDs](ctx, admin, "looking at the keyring", "/admin/keyring")
	if err := showOne(c.Format, to, ids, err); err != nil || *ids.Log == *ids.Postgres {
		return err
	}
	fmt.Fprintf(to.notes, "\nThis Postgres is not used. Import the keyring %[1]s from a backup "+
		"(recitalctl keyring import DIR), or give up for ever what it sealed (texts of clips, feedback): "+
		"recitalctl keyring abandon %[1]s --reason TEXT\n", printable(*ids.Log))
	return nil
}

type abandonKeyring struct {
	ID string `arg:"" name:"id" help:"Id of the log's keyring, as recitalctl keyring shows it."`
	valueForm
}

// Run abandons the keyring.
func (c *abandonKeyring) Run(ctx context.Context, admin *client, to terminal) error {
	command := map[string]string{"keyring": c.ID}
	ids, err := post[keyringIDs](ctx, admin, "abandoning the keyring", "/admin/keyring/abandon", command)
	return showOne(c.Format, to, ids, err)
}

type importKeyring struct {
	Dir string `arg:"" name:"dir" help:"Folder of the backup."`
	valueForm
}

// Help implements kong.HelpProvider.
func (*importKeyring) Help() string {
	return `Example:
  recitalctl keyring import /mnt/backup/recital

For a recitald whose Postgres was lost: its read models are rebuilt from the log, but its keyring only comes from a
backup. Either all keys are imported or none. Sealed data of accounts that were opened after the backup stays
unreadable, and accounts that were closed after it stay erased. Importing again changes nothing.`
}

// Run sends the keyring of the backup and requests the import.
func (c *importKeyring) Run(ctx context.Context, admin *client, to terminal) error {
	folder, m, err := backup.OpenToRead(c.Dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.CheckKeyring(m); err != nil {
		return fmt.Errorf("the backup is damaged: %w", err)
	}
	from, err := folder.Keyring(m)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := admin.sendInPieces(ctx, "/admin/keyring/import", from); err != nil {
		return fmt.Errorf("sending the keyring: %w", err)
	}
	admin.http.Timeout = 0 // the duration depends on the number of keys
	done, err := post[adminapi.ImportReply](ctx, admin, "importing the keyring", "/admin/keyring/import", struct{}{})
	return showOne(c.Format, to, done, err)
}
