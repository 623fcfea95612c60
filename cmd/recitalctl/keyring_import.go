package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/recital-tts/recital/internal/events/backup"
)

type importKeyring struct {
	Dir    string `arg:"" name:"dir" help:"Folder of the backup."`
	Format format `default:"table" enum:"table,json" help:"Form of the result: table or json."`
}

// Help is shown below the flags.
func (*importKeyring) Help() string {
	return `Example:
  recitalctl keyring import /mnt/backup/recital

For a recitald whose Postgres was lost: its read models come back from the log, its keyring only from a backup. All keys are
taken up or none. What accounts that opened after the backup have sealed stays unreadable; those that closed after it stay erased.
Importing again changes nothing.`
}

// importedKeyring is the admin API's description of an import.
type importedKeyring struct {
	Keyring string `json:"keyring"`
	Keys    int    `json:"keys"`
	Erased  int    `json:"erased"`
}

// Run sends the copy of the keyring, and has it imported.
func (c *importKeyring) Run(ctx context.Context, s settings, to terminal) error {
	folder, m, err := backup.OpenToRead(c.Dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.CheckKeyring(m); err != nil {
		return fmt.Errorf("the backup is damaged: %w", err)
	}
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	from, err := folder.Keyring(m)
	if err != nil {
		return err
	}
	defer from.Close()
	err = inPieces(from, func(offset int64, piece []byte) error {
		got, err := admin.do(ctx, http.MethodPut, "/admin/keyring/import?offset="+strconv.FormatInt(offset, 10), piece)
		if err != nil {
			return err
		}
		return admin.refusal(got)
	})
	if err != nil {
		return fmt.Errorf("sending the keyring: %w", err)
	}
	admin.http.Timeout = 0 // it takes as long as there are keys
	var done importedKeyring
	if _, err := admin.post(ctx, "/admin/keyring/import", struct{}{}, &done); err != nil {
		return fmt.Errorf("importing the keyring: %w", err)
	}
	return c.Format.print(to, done, []string{"KEYRING", "KEYS", "ERASED AGAIN"}, [][]string{{done.Keyring, strconv.Itoa(done.Keys), strconv.Itoa(done.Erased)}})
}
