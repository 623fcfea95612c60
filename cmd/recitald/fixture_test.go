package main_test

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/backup"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/standins/sandbox"
)

// fixtures is the folder with an archive for each release: the data folder after a run, a dump of Postgres, a copy of
// the keyring, and the answers that every later build must give. TestWriteTheFixture writes the newest one.
const fixtures = "testdata/releases"

// promised holds the recorded answers to a fixture's account that do not change with time.
type promised struct {
	Account      string
	Key, Revoked string
	Usage        []map[string]any // the periods of the billing history with usage
	Clips        []keptClip
	Voice        ownVoice
	Price, Card  string
	Invoices     []string
}

type keptClip struct{ ID, Text, SHA256 string }

// usedPeriods returns the periods of the billing history with usage.
func (c customer) usedPeriods(t *testing.T) (used []map[string]any) {
	t.Helper()
	c.read(t, "/v1/account/billing_history", &used)
	return slices.DeleteFunc(used, func(period map[string]any) bool { return period["chars_used"] == 0.0 })
}

func (c customer) keptClip(t *testing.T, id string) keptClip {
	t.Helper()
	text, audio := c.hear(t, id)
	sum := sha256.Sum256(audio)
	return keptClip{ID: id, Text: text, SHA256: hex.EncodeToString(sum[:])}
}

func TestWriteTheFixture(t *testing.T) {
	file := os.Getenv("RECITAL_FIXTURE")
	if file == "" {
		t.Skip("make fixture runs it")
	}
	// given an account with keys, usage, clips, a voice and a subscription
	data, staged, url := filepath.Join(t.TempDir(), "data"), t.TempDir(), pgtest.Empty(t).Config().ConnString()
	require.NoError(t, os.Mkdir(data, 0o711))
	s := start(t, data, "--engines=1", "--postgres="+url)
	c := s.openAccount("free")
	clips := []string{c.saveClip(t, prose(60))}
	made := c.subscribe(t, "indie")
	s.recitalctl("sandbox", "confirm", made.ClientSecret)
	c.awaitPlan(t, "indie")
	clips = append(clips, c.saveClip(t, prose(40)))
	revoked := c.newKey(t, "")
	require.Equal(t, 200, revoked.revokeKey(t).status)
	voice := c.readyVoice(t, s.reference(t, "webm", 150))
	requireOK(t, c.post(t, bytesRoute, order{"text": prose(50), "voice": voice.ID}))

	// when its answers are recorded
	s.eventually(func() bool { return c.usage(t) == 150 && len(c.billing(t).Invoices) == 1 })
	shown := c.billing(t)
	told := promised{
		Account: c.id, Key: c.key, Revoked: revoked.key, Usage: c.usedPeriods(t), Voice: c.ownVoice(t, voice.ID),
		Price: sandbox.PriceOf("indie"), Card: shown.PaymentMethod.Last4, Invoices: []string{shown.Invoices[0].ID},
	}
	for _, id := range clips {
		told.Clips = append(told.Clips, c.keptClip(t, id))
	}
	answers, err := json.MarshalIndent(told, "", "  ")
	require.NoError(t, err)
	token := s.secret("operator-token")
	keyring := requireOK(t, fetch(t, http.MethodGet, s.admin+"/admin/backup/keyring", "Authorization", "Bearer "+token))
	s.interrupt()
	s.awaitEnd()

	// then they are packed with the data folder, the keyring and a dump of Postgres
	pgDump := []string{"--no-owner", "--no-privileges", "--inserts", "--dbname", url}
	dump, err := exec.CommandContext(t.Context(), "pg_dump", pgDump...).Output()
	require.NoError(t, err)
	for name, content := range map[string][]byte{"promised.json": answers, "keyring": keyring.body, "postgres.sql": dump} {
		require.NoError(t, os.WriteFile(filepath.Join(staged, name), content, 0o600))
	}
	printed, err := filepath.Glob(filepath.Join(data, "said-*"))
	require.NoError(t, err)
	for _, gone := range append(printed, filepath.Join(data, "lock"), filepath.Join(data, "addresses")) {
		require.NoError(t, os.RemoveAll(gone))
	}
	require.NoError(t, os.CopyFS(filepath.Join(staged, "data"), os.DirFS(data)))
	pack(t, staged, file)
}

// pack archives a folder.
func pack(t *testing.T, folder, file string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	out, err := os.Create(file)
	require.NoError(t, err)
	packed, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	require.NoError(t, err)
	archive := tar.NewWriter(packed)
	require.NoError(t, archive.AddFS(os.DirFS(folder)))
	require.NoError(t, errors.Join(archive.Close(), packed.Close(), out.Close()))
}

// unpack extracts an archive into a folder. The files are private to their owner.
func unpack(t *testing.T, file, folder string) {
	t.Helper()
	in, err := os.Open(file)
	require.NoError(t, err)
	defer in.Close()
	unpacked, err := zstd.NewReader(in)
	require.NoError(t, err)
	defer unpacked.Close()
	archive := tar.NewReader(unpacked)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		path := filepath.Join(folder, header.Name)
		if header.FileInfo().IsDir() {
			require.NoError(t, os.MkdirAll(path, 0o711))
			continue
		}
		content, err := io.ReadAll(archive)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
}

var psqlCommand = regexp.MustCompile(`(?m)^\\.*$`)

// loadDump executes a dump of pg_dump.
func loadDump(t *testing.T, url, dump string) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, connection.Close(t.Context())) }()
	_, err = connection.Exec(t.Context(), psqlCommand.ReplaceAllString(dump, ""))
	require.NoError(t, err)
}

// Every build serves the data of each release, with its Postgres or with an empty one, which it rebuilds from the log.
func TestTheDataOfEachReleaseIsServed(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob(filepath.Join(fixtures, "*.tar.zst"))
	require.NoError(t, err)
	require.NotEmpty(t, archives)
	for _, archive := range archives {
		for _, postgres := range []string{"with its Postgres", "with an empty Postgres"} {
			t.Run(filepath.Base(archive)+" "+postgres, func(t *testing.T) {
				t.Parallel()
				folder, url := t.TempDir(), pgtest.Empty(t).Config().ConnString()
				unpack(t, archive, folder)
				data, keyring := filepath.Join(folder, "data"), filepath.Join(folder, "keyring")
				if strings.Contains(postgres, "empty") {
					require.NoError(t, os.Rename(keyring, filepath.Join(data, backup.KeyringName)))
				} else {
					loadDump(t, url, read(t, filepath.Join(folder, "postgres.sql")))
				}
				s := start(t, data, "--engines=1", "--postgres="+url)
				s.eventually(func() bool { return s.hasEnded() || s.isReady() })
				require.False(t, s.hasEnded(), "recitald refuses the data: %s", read(t, s.log))
				var told promised
				require.NoError(t, json.Unmarshal([]byte(read(t, filepath.Join(folder, "promised.json"))), &told))
				s.keeps(told)
			})
		}
	}
}

// keeps checks that recitald gives a fixture's recorded answers.
func (s *server) keeps(told promised) {
	t, c := s.t, customer{server: s, id: told.Account, key: told.Key}
	t.Helper()
	require.Equal(t, 401, do(t, customer{server: s, key: told.Revoked}.request(http.MethodGet, "/v1/account", nil)).status)
	require.Subset(t, c.usedPeriods(t), told.Usage)
	require.Equal(t, len(told.Clips), c.clips(t).TotalClips)
	for _, clip := range told.Clips {
		require.Equal(t, clip, c.keptClip(t, clip.ID))
	}
	shown := c.ownVoice(t, told.Voice.ID)
	shown.PreviewURL = told.Voice.PreviewURL // has the address of the server
	require.Equal(t, told.Voice, shown)
	require.Contains(t, do(t, c.request(http.MethodGet, voiceRoute+"/list", nil)).text(), told.Voice.ID)
	spoken := requireOK(t, c.post(t, bytesRoute, order{"text": prose(50), "voice": told.Voice.ID}))
	require.NotEmpty(t, spoken.body)

	c.awaitStatus(t, "active")
	billing := c.billing(t)
	require.Equal(t, told.Price, *billing.Subscription.PriceID)
	require.Equal(t, told.Card, billing.PaymentMethod.Last4)
	var invoices []string
	for _, invoice := range billing.Invoices {
		invoices = append(invoices, invoice.ID)
	}
	require.Subset(t, invoices, told.Invoices)
	require.EqualValues(t, "indie", c.account(t).Plan.Type)
}
