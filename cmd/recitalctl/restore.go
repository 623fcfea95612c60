package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/recital-tts/recital/cmd/recitalctl/progress"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/events/backup"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
	"github.com/recital-tts/recital/internal/process/datafolder"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

type restore struct {
	Dir           string   `arg:"" name:"dir" help:"Folder of the backup."`
	MasterKeyFile string   `required:"" env:"RECITAL_MASTER_KEY_FILE" placeholder:"PATH" help:"${restore_master_key_file}"`
	To            string   `placeholder:"esdb://HOST:2113" help:"${restore_to}"`
	Blobs         string   `placeholder:"/PATH" help:"${restore_blobs}"`
	S3            s3Keys   `embed:"" prefix:"s3-"`
	Check         bool     `help:"${restore_check}"`
	Scratch       string   `placeholder:"DIR" help:"${restore_scratch}"`
	PublicKey     []string `placeholder:"HEX" help:"${restore_public_key}"`
	Recitald      string   `placeholder:"PATH" help:"${restore_recitald}"`
}

// Help is shown below the flags.
func (*restore) Help() string {
	return `Examples:
  recitalctl restore /mnt/backup/recital --data-dir /srv/recital --master-key-file /etc/recital/master-key
  recitalctl restore /mnt/backup/recital --to esdb://events:2113 --data-dir /srv/recital --master-key-file …
  recitalctl restore /mnt/backup/recital --to esdb://events:2113 --blobs 's3://clips/recital?region=eu-central-1' …
  recitalctl restore --check /mnt/backup/recital --master-key-file /etc/recital/master-key

The whole backup is checked first. The data folder must be a new one. The same command continues an
interrupted restore, and recitald does not start on an incomplete one. Afterwards start recitald with that data folder
and the same master key: it takes the keyring up, erases the keys of closed accounts again, and builds its read
models. What was erased stays so.`
}

// Run restores, or tries it out.
func (c *restore) Run(ctx context.Context, s settings, to terminal) error {
	if c.Check {
		return c.drill(ctx, s.offline(), to)
	}
	restored, err := c.into(ctx, s.DataDir, s.offline(), to)
	if err != nil {
		return err
	}
	fmt.Fprintf(to.notes, "Restored %s events (log %s, now in epoch %d) and %s blobs, as of %s; %s blobs of what was "+
		"deleted were left out.\n"+
		"Start it with: recitald --data-dir %s --master-key-file %s\n",
		progress.Count(int64(restored.events)), restored.identity.LogID, restored.identity.Epoch,
		progress.Count(int64(restored.blobs)),
		restored.asOf.Format(time.RFC3339), progress.Count(int64(restored.left)), s.DataDir, c.MasterKeyFile)
	if c.To != "" {
		fmt.Fprintf(to.notes, "and with RECITAL_EVENTSTORE=%s\n", c.To)
	}
	if c.Blobs != "" {
		fmt.Fprintf(to.notes, "and with RECITAL_BLOBS=%s\n", c.Blobs)
	}
	return nil
}

// restored is the result of a restore.
type restored struct {
	asOf     time.Time
	identity eventlog.Identity
	events   uint64
	blobs    int
	left     int      // blobs that nothing needs any more
	clips    []string // the latest ids
}

// into restores into a data folder. Each step may be repeated.
func (c *restore) into(ctx context.Context, dir string, by eventlog.Actor, to terminal) (done restored, err error) {
	from, m, err := backup.OpenToRead(c.Dir)
	if err != nil {
		return done, err
	}
	defer from.Close()
	if err := checkBackup(ctx, from, m, to); err != nil {
		return done, err
	}
	if err := c.checkMasterKey(from, m); err != nil {
		return done, err
	}
	folder, err := datafolder.OpenToRestore(dir, strings.Join([]string{
		m.Blobs.SHA256, m.Keyring.SHA256, cmp.Or(c.To, "embedded"),
	}, " "))
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	shown := newStage(to)
	defer shown.close()
	r := &restoring{settings: c, from: from, manifest: m, folder: folder, by: by, to: shown}
	for _, step := range []func(context.Context) error{r.openStore, r.openLog, r.log, r.keyring, r.blobs} {
		if err := step(ctx); err != nil {
			return done, errors.Join(err, r.close())
		}
	}
	if err := r.close(); err != nil {
		return done, err
	}
	return r.done, folder.EndRestore()
}

// checkMasterKey sees before anything is written that the keys of the backup can be used.
func (c *restore) checkMasterKey(from *backup.Folder, m backup.Manifest) error {
	key, err := datafolder.ReadKey("master key", c.MasterKeyFile)
	if err != nil {
		return err
	}
	content, err := from.Keyring(m)
	if err != nil {
		return err
	}
	defer content.Close()
	copied, err := keyring.NewCopyReader(content)
	if err != nil {
		return err
	}
	for {
		row, err := copied.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case row.Erased == nil && row.Master != pgkeys.MasterKeyID(key):
			return fmt.Errorf("%s is not the master key that the backup was made with", c.MasterKeyFile)
		}
	}
}

// restoring is a restore in progress.
type restoring struct {
	settings *restore
	from     *backup.Folder
	manifest backup.Manifest
	folder   *datafolder.Folder
	by       eventlog.Actor
	to       *stage
	target   eventlog.Log
	store    blobs.Store
	closing  []func() error
	done     restored
}

func (r *restoring) close() (err error) {
	for _, end := range r.closing {
		err = errors.Join(err, end())
	}
	r.closing = nil
	return err
}

// log copies the events, and opens the next epoch at their end, so that no read model takes positions of the time
// before for its own.
func (r *restoring) log(ctx context.Context) error {
	registry, err := eventlog.NewRegistry(eventlog.LogOpenedType())
	if err != nil {
		return err
	}
	r.done.asOf, r.done.events = r.manifest.Begun, r.manifest.Events
	of := r.manifest.Identity()
	now, _, err := eventlog.ReadIdentity(ctx, r.target, registry)
	if err != nil {
		return err
	}
	if now != (eventlog.Identity{LogID: of.LogID, Epoch: of.Epoch + 1}) { // else the log is there, and its end too
		r.to.begin("writing the log", int64(r.manifest.Events))
		err := logcopy.Append(ctx, r.target, r.events(), func(copied uint64, _ eventlog.Position) { r.to.set(int64(copied)) })
		if err != nil {
			return fmt.Errorf("restoring the log: %w", err)
		}
	}
	r.done.identity, err = eventlog.NextEpoch(ctx, r.target, registry, of, r.by, time.Now().UTC())
	return err
}

// keyring leaves the copy of the keyring for recitald, which alone knows the master key.
func (r *restoring) keyring(context.Context) error {
	from, err := r.from.Keyring(r.manifest)
	if err != nil {
		return err
	}
	defer from.Close()
	return inPieces(from, r.folder.Incoming(backup.KeyringName).Put)
}

// pieceSize is the size of the pieces in which a copy of the keyring is sent, in bytes.
const pieceSize = 512 << 10

// inPieces passes on the content of a reader in pieces.
func inPieces(from io.Reader, put func(offset int64, piece []byte) error) error {
	piece := make([]byte, pieceSize)
	for offset := int64(0); ; {
		n, err := io.ReadFull(from, piece)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("reading the copy of the keyring: %w", err)
		}
		if err := put(offset, piece[:n]); err != nil {
			return err
		}
		offset += int64(n)
	}
}
