package app

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/process/datafolder"
	"github.com/recital-tts/recital/internal/process/health"
)

// secrets are the keys that all instances share. Those in the middle are derived from the signing key.
type secrets struct {
	master      []byte             // wraps the accounts' keys
	links       []byte             // signs links
	generations []byte             // signs the ids of syntheses
	sandbox     []byte             // is the key of the payment provider for development
	signIns     []byte             // seals a browser's sign-in state
	operators   []byte             // authenticates the cookies of operators
	audit       ed25519.PrivateKey // signs the heads of the audit chain
}

func (a *App) openFolder(context.Context) (err error) {
	if a.folder, err = datafolder.Open(a.cfg.DataDir); err != nil {
		return err
	}
	a.cfg.DataDir = a.folder.Dir()
	a.onClose("the data folder", a.folder.Close)
	return nil
}

// readTokens reads the tokens of the admin address. It runs before anything is written, so that an error leaves nothing
// behind.
func (a *App) readTokens(context.Context) (err error) {
	var files []operators.File
	for _, f := range []struct{ role, configured string }{
		{operators.Operator, a.cfg.OperatorTokenFile}, {operators.Auditor, a.cfg.AuditorTokenFile},
	} {
		text, path, err := a.folder.Secret(f.role+"-token", f.configured)
		if err != nil {
			return err
		}
		files = append(files, operators.File{Path: path, Role: f.role, Text: text})
	}
	a.tokens, err = operators.Parse(files...)
	return err
}

// readSecrets reads the keys. It runs before anything is written, so that an error leaves nothing behind.
func (a *App) readSecrets(context.Context) (err error) {
	if a.secrets.master, err = a.folder.Key("master-key", a.cfg.MasterKeyFile); err != nil {
		return err
	}
	signing, err := a.folder.Key("signing-key", a.cfg.SigningKeyFile)
	if err != nil {
		return err
	}
	if bytes.Equal(a.secrets.master, signing) {
		return errors.New("the master key and the signing key are the same; each needs a value of its own")
	}
	for _, d := range []struct {
		key     *[]byte
		purpose string
	}{
		{&a.secrets.links, "links"}, {&a.secrets.generations, "ids of syntheses"}, {&a.secrets.sandbox, "payment sandbox"},
		{&a.secrets.signIns, "sign-ins that have begun"}, {&a.secrets.operators, "sessions of operators"},
	} {
		if *d.key, err = derive(signing, d.purpose); err != nil {
			return err
		}
	}
	seed, err := a.folder.Key("audit-key", a.cfg.AuditKeyFile)
	if err != nil {
		return err
	}
	if bytes.Equal(seed, signing) || bytes.Equal(seed, a.secrets.master) {
		return errors.New("the audit key is the master key or the signing key; each needs a value of its own")
	}
	a.secrets.audit = ed25519.NewKeyFromSeed(seed)
	return nil
}

// derive returns a key for one purpose (HKDF-SHA-256, RFC 5869).
func derive(secret []byte, purpose string) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "recital "+purpose, len(secret))
	if err != nil {
		return nil, fmt.Errorf("deriving the key for %s: %w", purpose, err)
	}
	return key, nil
}

// operatorAccount is the account that the first start in dev mode opens. Its id is fixed, so that the next start
// completes an interrupted one.
const operatorAccount = "operator"

const devKeyFile = "dev-api-key"

// openOperatorAccount makes sure, in dev mode, that the operator account exists with the key of the file. The file is
// written first, so that a crash loses no key. A revoked key stays revoked; once its file is deleted, the next start
// makes a new one. A closed account stays closed.
func (a *App) openOperatorAccount(ctx context.Context) error {
	if a.cfg.Mode == modeProd {
		return nil
	}
	key, err := a.folder.FileOnce(devKeyFile, func() (string, error) { return account.DrawAPIKey(rand.Reader) })
	if err != nil {
		return err
	}
	if !account.WellFormedAPIKey(key) {
		return fmt.Errorf("%s holds no API key; delete it, and the next start makes a new one", a.folder.Path(devKeyFile))
	}
	position, err := a.accounts.Ensure(ctx, operatorAccount, string(plan.Enterprise), key)
	switch {
	case errors.Is(err, accounts.ErrKeyRevoked):
		a.noDevKey = "was revoked; delete " + a.folder.Path(devKeyFile) + " and start again for a new one"
	case errors.Is(err, account.ErrClosed):
		a.noDevKey = "ended when the operator account was closed; recitalctl accounts create opens another account"
	case eventlog.IsUndecodable(err):
		a.noDevKey = "cannot be used, because an event of the operator account cannot be read; " +
			"recitalctl projections parked list shows it"
	case err != nil:
		return err
	}
	if a.noDevKey != "" {
		a.log.Warn("the operator account's API key " + a.noDevKey)
		return nil
	}
	a.devKey = key
	select {
	case <-a.database:
		return a.awaitRead(ctx, position)
	default:
		return nil
	}
}

// readTimeout is the time that a start waits for the read model of accounts, so that the printed API key can be used.
const readTimeout = 10 * time.Second

// awaitRead waits until the read model of accounts has reached a position. A read model that is being built or has
// stopped does not prevent the start.
func (a *App) awaitRead(ctx context.Context, position eventlog.Position) error {
	brief, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := a.projector.Wait(brief, position, readmodel.Account); err != nil && ctx.Err() == nil {
		a.log.WarnContext(ctx, "the read model of accounts is behind; recitalctl projections list shows how far it has come",
			"error", err)
	}
	return ctx.Err()
}

// nearlyFull is the use of a disk in per cent from which the doctor warns.
const nearlyFull = 85

// diskUse holds the size of a disk for unprivileged users and its free space, in bytes.
type diskUse struct{ size, free float64 }

func diskUseOf(folder string) (diskUse, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return diskUse{}, fmt.Errorf("looking at the disk of %s: %w", folder, err)
	}
	block := float64(disk.Bsize)
	return diskUse{size: float64(disk.Blocks-disk.Bfree+disk.Bavail) * block, free: float64(disk.Bavail) * block}, nil
}

func (u diskUse) percent() float64 { return 100 * (1 - u.free/max(u.size, 1)) }

// diskLimit is the use of a disk from which an alert is raised.
type diskLimit struct {
	percent float64
	floor   float64 // bytes that must be free; below half of that the embedded node accepts no events
}

func (l diskLimit) isReached(u diskUse) bool { return u.percent() >= l.percent || u.free < l.floor }

// alertFolders are the folders on the disks that recitald fills.
func (c Config) alertFolders() []string {
	if c.Blobs == "" || c.blobsInS3() {
		return []string{c.DataDir}
	}
	return []string{c.DataDir, c.Blobs}
}

// diskChecks returns checks of the disks of folders. An alert ends when its disk is one per cent below the limit.
func diskChecks(instance string, folders []string, limit diskLimit) (checks []health.Check) {
	for _, folder := range folders {
		condition := alert.Condition{
			Source: alert.DiskSource, Subject: instance + ", folder " + folder, Reason: alert.DiskFull,
		}
		var isFull atomic.Bool
		checks = append(checks, health.Check{
			Name: "the disk of " + folder + " has room", Raises: condition.Is, Rules: []string{"RecitalDiskFull"},
			Look: func(context.Context) health.Finding {
				use, err := diskUseOf(folder)
				if err != nil {
					return health.Broken(err.Error(), "see whether the disk is mounted and readable").ButUnknown()
				}
				bound := limit
				if isFull.Load() {
					bound = diskLimit{limit.percent - 1, limit.floor + use.size/100}
				}
				isFull.Store(bound.isReached(use))
				f := health.Sound("%.1f %% are used, %.2f GiB are free", use.percent(), use.free/(1<<30))
				switch {
				case isFull.Load():
					return f.But(health.Fault,
						"make room or enlarge the disk now: a full disk takes nothing more, and nothing is lost",
					).Raising(condition, time.Time{})
				case use.percent() >= nearlyFull:
					return f.But(health.Warning,
						"enlarge the disk soon; recitalctl projections retire drops generations of read models that nobody needs")
				}
				return f
			},
		})
	}
	return checks
}
