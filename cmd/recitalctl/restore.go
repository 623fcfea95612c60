package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/recital-tts/recital/cmd/recitalctl/progress"
	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/packages"
	"github.com/recital-tts/recital/commands/skips"
	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/events/backup"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/logcopy"
	"github.com/recital-tts/recital/internal/process/datafolder"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/folder"
	"github.com/recital-tts/recital/internal/providers/blobs/s3"
	"github.com/recital-tts/recital/internal/speech/voicepack"
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

// Help implements kong.HelpProvider.
func (*restore) Help() string {
	return `Examples:
  recitalctl restore /mnt/backup/recital --data-dir /srv/recital --master-key-file /etc/recital/master-key
  recitalctl restore /mnt/backup/recital --to esdb://events:2113 --data-dir /srv/recital --master-key-file …
  recitalctl restore /mnt/backup/recital --to esdb://events:2113 --blobs 's3://clips/recital?region=eu-central-1' …
  recitalctl restore --check /mnt/backup/recital --master-key-file /etc/recital/master-key

The whole backup is checked first. The data folder must be new. The same command continues an interrupted restore, and
recitald does not start on an incomplete one. Afterwards start recitald with the data folder and the same master key:
it imports the keyring, erases the keys of closed accounts again, and builds its read models. Erased data stays erased.`
}

// Run restores the backup, or tries to.
func (c *restore) Run(ctx context.Context, s settings, to terminal) error {
	if c.Check {
		return c.drill(ctx, s.offline(), to)
	}
	restored, err := c.into(ctx, s.DataDir, s.offline(), to)
	if err != nil {
		return err
	}
	fmt.Fprintf(to.notes, "Restored %s events (log %s, now in epoch %d) and %s blobs, as of %s; %s deleted "+
		"blobs were left out.\n"+
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
	left     int      // blobs that are no longer needed
	clips    []string // ids of the latest clips
}

// into restores into a data folder. It may be repeated after an interruption.
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

// checkMasterKey checks that the master key opens the keys of the backup, before anything is written.
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

// restoring is a running restore.
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

// log copies the events and opens the next epoch, so that no read model mistakes a position of the earlier log for one
// of this log.
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
	if now != (eventlog.Identity{LogID: of.LogID, Epoch: of.Epoch + 1}) { // otherwise the log is complete
		r.to.begin("writing the log", int64(r.manifest.Events))
		err := logcopy.Append(ctx, r.target, r.events(), func(copied uint64, _ eventlog.Position) { r.to.set(int64(copied)) })
		if err != nil {
			return fmt.Errorf("restoring the log: %w", err)
		}
	}
	r.done.identity, err = eventlog.NextEpoch(ctx, r.target, registry, of, r.by, time.Now().UTC())
	return err
}

// keyring copies the keyring for recitald, the only one that has the master key.
func (r *restoring) keyring(context.Context) error {
	from, err := r.from.Keyring(r.manifest)
	if err != nil {
		return err
	}
	defer from.Close()
	return inPieces(from, r.folder.Incoming(backup.KeyringName).Put)
}

// pieceSize is the size in bytes of the pieces of a keyring.
const pieceSize = 512 << 10

// inPieces passes the content of a reader to put in pieces.
func inPieces(from io.Reader, put func(offset int64, piece []byte) error) error {
	piece := make([]byte, pieceSize)
	for offset := int64(0); ; {
		n, err := io.ReadFull(from, piece)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("reading a piece: %w", err)
		}
		if err := put(offset, piece[:n]); err != nil {
			return err
		}
		offset += int64(n)
	}
}

// openLog opens the target log: the named event store, or an event node on the data folder that runs during the
// restore.
func (r *restoring) openLog(context.Context) error {
	silent := slog.New(slog.DiscardHandler)
	if r.settings.To != "" {
		client, err := esdb.Open(esdb.Config{ConnectionString: r.settings.To, Logger: silent})
		if err != nil {
			return fmt.Errorf("opening the event store: %w", err)
		}
		r.target = client
		r.closing = append(r.closing, client.Close)
		return nil
	}
	dir := r.folder.Path("eventnode")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of the event node: %w", err)
	}
	log, end, err := openNode(dir, silent)
	if err != nil {
		return err
	}
	r.target = log
	r.closing = append(r.closing, end)
	return nil
}

// latestClips is the maximum number of clips that a drill tries.
const latestClips = 100

// events yields the events of the backup, and records the latest clips.
func (r *restoring) events() iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		for event, err := range r.from.Events(r.manifest) {
			if err == nil && event.Type == "clip-saved" {
				r.done.clips = append(r.done.clips, strings.TrimPrefix(event.Stream, clip.StreamPrefix))
				r.done.clips = r.done.clips[max(0, len(r.done.clips)-latestClips):]
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// s3Keys are the access keys for blobs in S3, as in recitald's settings.
type s3Keys struct {
	AccessKey     string `env:"RECITAL_S3_ACCESS_KEY" placeholder:"ID" help:"${s3_keys_access_key}"`
	AccessKeyFile string `env:"RECITAL_S3_ACCESS_KEY_FILE" placeholder:"PATH" help:"File of that id, instead."`
	SecretKey     string `env:"RECITAL_S3_SECRET_KEY" placeholder:"KEY" help:"The key to blobs in S3."`
	SecretKeyFile string `env:"RECITAL_S3_SECRET_KEY_FILE" placeholder:"PATH" help:"File of that key, instead."`
}

// read returns the keys.
func (k s3Keys) read() (access, secret string, err error) {
	access, err = valueOr(k.AccessKey, k.AccessKeyFile)
	if err == nil {
		secret, err = valueOr(k.SecretKey, k.SecretKeyFile)
	}
	if err == nil && (access == "") != (secret == "") {
		err = fail(exitUsage, "S3 needs both keys, --s3-access-key and --s3-secret-key, "+
			"or neither, and then uses those of AWS's tools")
	}
	return access, secret, err
}

// valueOr returns value or, if it is empty, the content of the file.
func valueOr(value, file string) (string, error) {
	if value != "" || file == "" {
		return value, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading a key to S3: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}

// openStore opens the store of blobs before anything is written.
func (r *restoring) openStore(ctx context.Context) (err error) {
	to, log, silent := r.settings.Blobs, r.manifest.LogID.String(), slog.New(slog.DiscardHandler)
	if !strings.HasPrefix(to, s3.Scheme) {
		r.store, err = folder.Open(folder.Config{
			Dir: filepath.Join(cmp.Or(to, r.folder.Path("blobs")), log), Instance: "recitalctl restore", Logger: silent,
		})
		return err
	}
	config := s3.Config{Folder: log, Logger: silent}
	if config.Location, err = s3.ParseURL(to); err != nil {
		return fail(exitUsage, "%w", err)
	}
	if config.AccessKey, config.SecretKey, err = r.settings.S3.read(); err != nil {
		return err
	}
	store, err := s3.Open(ctx, config)
	if err != nil {
		return err
	}
	r.store = store
	r.closing = append(r.closing, store.Close)
	return nil
}

// blobs copies the blobs that the restored log still needs. It leaves out blobs of deleted clips and voices, removed
// packages, and closed accounts.
func (r *restoring) blobs(ctx context.Context) error {
	registry, err := eventlog.NewRegistry(slices.Concat(accounts.Events(), clips.Events(), packages.Events(),
		voices.Events(), skips.Events())...)
	if err != nil {
		return err
	}
	needs := &needs{journal: &journal.Journal{Log: r.target, Registry: registry}}
	if err := skips.Load(ctx, needs.journal); err != nil {
		return err
	}
	r.to.begin("copying the blobs", r.manifest.Stored.Bytes)
	for blob, err := range r.from.Blobs(r.manifest) {
		if err != nil {
			return err
		}
		needed, err := needs.blob(ctx, blob.Address)
		if err != nil {
			return fmt.Errorf("finding the owner of a blob: %w", err)
		}
		if !needed {
			r.done.left++
			continue
		}
		if err := r.copyBlob(ctx, blob); err != nil {
			return err
		}
		r.done.blobs++
		r.to.add(blob.Size)
	}
	return nil
}

func (r *restoring) copyBlob(ctx context.Context, blob backup.Blob) error {
	if there, err := r.store.Stat(ctx, blob.Address); err == nil && there.Size == blob.Size {
		return nil
	}
	from, err := r.from.OpenBlob(blob)
	if err != nil {
		return fmt.Errorf("copying a blob: %w", err)
	}
	defer from.Close()
	_, err = r.store.Put(ctx, blob.Address, from, blob.Size)
	return err
}

// needs decides which blobs the log still needs.
type needs struct{ journal *journal.Journal }

// blob reports whether a blob is needed. If an event of its owner cannot be decoded, the blob may be needed.
func (n *needs) blob(ctx context.Context, address blobs.Address) (bool, error) {
	if strings.HasPrefix(string(address), voicepack.BlobPrefix) { // shared by all accounts
		needed, err := packages.Needed(ctx, n.journal, address)
		if eventlog.IsUndecodable(err) {
			return true, nil
		}
		return needed, err
	}
	account, err := n.owner(ctx, address)
	if eventlog.IsUndecodable(err) {
		return true, nil
	}
	if err != nil || account == "" {
		return false, err
	}
	closed, err := accounts.Closed(ctx, n.journal, account)
	return !closed, err
}

// owner returns the account of the clip or voice that a blob belongs to, or "" if there is none.
func (n *needs) owner(ctx context.Context, address blobs.Address) (string, error) {
	switch owner := string(address.Owner()); {
	case strings.HasPrefix(owner, clip.StreamPrefix):
		return clips.Needed(ctx, n.journal, address)
	case strings.HasPrefix(owner, voice.StreamPrefix):
		return voices.Needed(ctx, n.journal, address)
	}
	return "", nil
}

// openNode runs an event node on its folder until end is called. The socket is in a temporary folder, because its path
// has to be short.
func openNode(dir string, log *slog.Logger) (_ *esdb.Client, end func() error, err error) {
	place, err := os.MkdirTemp("", "recitalctl-") // mode 0700
	if err != nil {
		return nil, nil, fmt.Errorf("making a folder for the event node's socket: %w", err)
	}
	removePlace := func() error { return os.RemoveAll(place) }
	socket := filepath.Join(place, "node.sock")
	node, err := eventnode.Open(eventnode.Config{Dir: dir, Socket: socket, Logger: log})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("opening the event node: %w", err), removePlace())
	}
	opened, err := esdb.Open(esdb.Config{Socket: socket, Logger: log})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("opening the event node: %w", err), node.Close(), removePlace())
	}
	return opened, func() error { return errors.Join(opened.Close(), node.Close(), removePlace()) }, nil
}
