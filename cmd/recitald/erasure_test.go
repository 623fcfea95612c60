package main_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/cockroachdb/pebble/v2"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// forms returns the encodings of a value that are searched for: plain, lower and upper case, UTF-16, hex, base64 and
// escaped JSON.
func forms(value []byte) (all [][]byte) {
	all = append(all, value, bytes.ToLower(value), bytes.ToUpper(value))
	for _, order := range []bool{false, true} {
		var wide []byte
		for _, unit := range utf16.Encode([]rune(string(value))) {
			if order {
				wide = append(wide, byte(unit>>8), byte(unit))
			} else {
				wide = append(wide, byte(unit), byte(unit>>8))
			}
		}
		all = append(all, wide)
	}
	digits := hex.EncodeToString(value)
	all = append(all, []byte(digits), []byte(strings.ToUpper(digits)))
	for cut := range min(3, len(value)-5) { // base64 depends on the position of the value
		whole := value[cut:]
		whole = whole[:len(whole)/3*3]
		all = append(all, []byte(base64.StdEncoding.EncodeToString(whole)), []byte(base64.URLEncoding.EncodeToString(whole)))
	}
	var escaped strings.Builder
	for _, c := range string(value) {
		if c > '~' {
			escaped.WriteString(`\u` + hex.EncodeToString([]byte{byte(c >> 8), byte(c)}))
		} else {
			escaped.WriteRune(c)
		}
	}
	return append(all, []byte(escaped.String()))
}

// remains maps descriptions of values to the forms that are searched for.
type remains map[string][][]byte

func (r remains) add(what string, value []byte) { r[what] = forms(value) }

// in returns the descriptions of the values in a text.
func (r remains) in(text []byte) (found []string) {
	for what, all := range r {
		if slices.ContainsFunc(all, func(form []byte) bool { return len(form) > 4 && bytes.Contains(text, form) }) {
			found = append(found, what)
		}
	}
	slices.Sort(found)
	return found
}

// inFolder returns the files that contain values, with the values' descriptions.
func (r remains) inFolder(t *testing.T, folder string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if what := r.in(content); len(what) > 0 {
			found[path] = what
		}
		return err
	}))
	return found
}

// inNode returns the values in the event node's tables, which are compressed.
func (r remains) inNode(t *testing.T, folder string) (found []string) {
	t.Helper()
	var store string
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(entry.Name(), "MANIFEST-") {
			store = filepath.Dir(path)
		}
		return err
	}))
	require.NotEmpty(t, store)
	db, err := pebble.Open(store, &pebble.Options{ReadOnly: true, Logger: quiet{}})
	require.NoError(t, err)
	defer db.Close()
	entries, err := db.NewIter(nil)
	require.NoError(t, err)
	defer entries.Close()
	for ok := entries.First(); ok; ok = entries.Next() {
		value, err := entries.ValueAndErr()
		require.NoError(t, err)
		for _, what := range r.in(slices.Concat(entries.Key(), value)) {
			if !slices.Contains(found, what) {
				found = append(found, what)
			}
		}
	}
	require.NoError(t, entries.Error())
	return found
}

// inBackup is inFolder for a backup. It decompresses the backup's log, keyring and lists.
func (r remains) inBackup(t *testing.T, dir string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for name := range files(t, dir) {
		if filepath.Ext(name) != ".zst" {
			continue
		}
		packed, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		reader, err := zstd.NewReader(bytes.NewReader(packed))
		require.NoError(t, err)
		content, err := io.ReadAll(reader)
		reader.Close()
		require.NoError(t, err, name)
		if what := r.in(content); len(what) > 0 {
			found[name] = what
		}
	}
	return found
}

// blobsIn counts the blobs of a backup.
func blobsIn(t *testing.T, dir string) (count int) {
	t.Helper()
	for name := range files(t, dir) {
		if strings.HasPrefix(name, "blobs/") && filepath.Ext(name) != ".zst" {
			count++
		}
	}
	return count
}

func (s *server) wrappedKey(account string) (key []byte) {
	s.t.Helper()
	database := s.postgres()
	defer database.Close(s.t.Context())
	require.NoError(s.t, database.QueryRow(s.t.Context(),
		`select wrapped_key from keyring.account_keys where account_id = $1`, account).Scan(&key))
	require.NotEmpty(s.t, key)
	return key
}

// quiet is a logger for Pebble that discards all messages.
type quiet struct{}

func (quiet) Infof(string, ...any)              {}
func (quiet) Errorf(string, ...any)             {}
func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// No personal data of a closed account remains in the log, in Postgres and its write-ahead log, in blobs, in recitald's
// own files and logs, in the metrics, or in the next run of a backup.
func TestNothingPersonalRemainsOfAClosedAccount(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	const (
		email      = "zyzzo.getön@erasure.example"
		said       = "Zyzzogetön verschwindet, as if it had never been."
		opinion    = "Quäkend-nasal-and-Zyzzo"
		context    = "Umständehalber-context"
		pronounced = "Zyzzogeträller"
		named      = "Zyzzovoice-Märchen"
		describe   = "Quokkaflüstern-description"
		tagged     = "Schnurrbart-tag"
		picture    = "https://pictures.example/zyzzo-portrait-4711.png"
		source     = "Flaschenpost-utm"
		project    = "zyzzo-quetzal-site"
		keyName    = "Zyzzos-Gürteltier-key"
		renamed    = "Zyzzos-Nacktmull-key"
		browser    = "ZyzzoBrowser/77.5 (Erasureland; Gerät)"
		cardJSON   = `"4242"`
	)
	b := openPaymentProvider(t)
	data := dataFolder(t)
	earlier := b.serve(data)
	recorded := earlier.reference(t, "wav", 400)
	earlier.interrupt()
	s := b.serve(data, "--longest-stream=10s", "--trusted-proxies=127.0.0.1", "--log-level=debug")

	// given an account with every kind of personal data
	v, wanted := s.person(), remains{}
	as := func(request *http.Request) *http.Request { // each from a different address
		address := fmt.Sprintf("203.0.113.%d", 100+len(wanted))
		wanted.add("the address "+address, []byte(address))
		request.Header.Set("X-Forwarded-For", address)
		request.Header.Set("User-Agent", browser)
		request.Header.Set("Sec-Fetch-Site", "same-origin")
		return request
	}
	v.client.Transport = roundTrip(func(r *http.Request) (*http.Response,
		error) {
		return http.DefaultTransport.RoundTrip(as(r))
	})
	v.source, v.picture = source, picture
	id := v.signIn(email)
	var made struct{ APIKey string }
	v.get(s.address+"/v1/account/new_api_key").decode(t, &made)
	c := customer{server: s, id: id, key: made.APIKey}
	subscribed := c.subscribe(t, "pro")
	b.pays(subscribed.ClientSecret, "pm_card_visa")
	c.awaitPlan(t, plan.Pro)
	s.eventually(func() bool { return c.billing(t).PaymentMethod != nil })
	spoken := do(t, as(c.request(http.MethodPost, bytesRoute, order{"text": said, "voice": "leah", "debug": true,
		"format": "wav", "return_timestamps": true}.encode())))
	require.Equal(t, 200, spoken.status, spoken.text())
	feedback := url.Values{"id": {spoken.header.Get("X-Generation-Id")}, "rating": {"thumbsDown"}, "text": {opinion},
		"context": {context}}
	word := order{"word": pronounced, "spoken": pronounced + "-ish"}
	require.Equal(t, 200, do(t, as(c.request(http.MethodPut, "/v1/account/pronunciations", word.encode()))).status)
	given := as(c.request(http.MethodPost, "/v1/ai/speech/feedback", strings.NewReader(feedback.Encode())))
	given.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	require.Equal(t, 200, do(t, given).status)
	require.Equal(t, 200, v.speak(said).status)
	require.Equal(t, 200, do(t, c.request(http.MethodGet, strings.TrimPrefix(spoken.header.Get("X-Timestamps-Url"),
		s.address), nil)).status, "word times are kept")
	about, err := json.Marshal(map[string]any{"description": describe, "tags": []string{tagged}})
	require.NoError(t, err)
	require.Equal(t, named, c.readyVoice(t, recorded, "name", named, "metadata", string(about)).Name)
	for _, name := range []string{keyName, renamed} {
		body := strings.NewReader(`{"name":` + strconv.Quote(name) + `}`)
		require.Equal(t, 200,
			do(t, as(c.request(http.MethodPost, "/v1/account/api_key/"+account.MaskAPIKey(c.key)+"/name", body))).status)
	}
	config, code := s.installs(project)
	c.hosts(t, "projects", url.Values{"config_id": {config}, "code": {code}})
	require.Equal(t, true,
		c.hosts(t, "env_vars", url.Values{"config_id": {config}, "add_project_names": {project}})["success"])
	require.ElementsMatch(t, []string{renamed, project}, c.keyNames(t))

	for what, value := range map[string]string{
		"the e-mail address": email, "the name": "Ada Lovelace", "the text of a clip": said, "feedback": opinion,
		"the context of feedback": context, "a word of the pronunciations": pronounced,
		"the name of a voice": named, "the description of a voice": describe, "the tag of a voice": tagged,
		"the picture": picture, "where the person came from": source, "a project": project, "the name of a key": keyName,
		"its next name": renamed, "the browser": browser, "the card's digits": cardJSON,
		"the key": c.key, "the sound of a clip": string(spoken.body[9000:9048]), "a recording": string(recorded[9000:9048]),
	} {
		wanted.add(what, []byte(value))
	}

	// and while it is open, all of it is there
	for _, left := range s.erasure(t, id).Left {
		require.Positive(t, left.Count, left.What)
	}

	// and a backup from that time
	backup := filepath.Join(t.TempDir(), "backup")
	s.backup(backup)
	key := remains{} // Postgres' write-ahead log may still have it (docs/auditors.md)
	key.add("its wrapped key", s.wrappedKey(id))
	require.Len(t, key.inBackup(t, backup), 1)
	require.Empty(t, wanted.inBackup(t, backup))
	require.Positive(t, blobsIn(t, backup))

	// when it is closed, and erased again after the longest possible request
	require.Equal(t, 200, do(t, as(c.request(http.MethodDelete, "/v1/account", nil))).status)
	s.eventually(func() bool { return s.closing(c) == account.ErasedForAll })

	// then an operator sees that the erasure is complete
	report := s.erasure(t, id)
	require.True(t, report.Complete, report)
	require.Equal(t, "complete", report.State)
	require.Len(t, report.Left, 4)
	for _, left := range report.Left {
		require.Zero(t, left.Count, left.What)
	}

	// and an auditor sees the actions without their addresses
	for _, area := range []string{"sessions", "billing", "activity"} {
		entries := string(s.recitalctl("audit", area, "--account", id, "--personal", "--reason", "Ticket 7", "--format",
			"json"))
		require.Contains(t, entries, "The account's owner did it")
		require.NotContains(t, entries, "203.0.113.")
	}

	// and no value is in the metrics, in any row, or in any file
	require.Empty(t, wanted.in([]byte(s.metrics())), "the metrics")
	for table, rows := range s.everyRow() {
		require.Empty(t, wanted.in([]byte(rows)), "table %s", table)
	}

	// and, once --keep has passed, the backup's folder has neither the key nor the blobs
	s.backup(backup, "--keep=0s")
	require.Zero(t, blobsIn(t, backup))
	require.Empty(t, wanted.inFolder(t, backup))
	require.Empty(t, wanted.inBackup(t, backup))
	require.Empty(t, key.inBackup(t, backup))
	s.interrupt()
	require.Empty(t, wanted.inNode(t, filepath.Join(data, "eventnode")), "the event node's tables")
	require.Empty(t, wanted.inFolder(t, data))

	// and the search finds values that are there
	control := remains{}
	control.add("the account's id", []byte(id))
	require.NotEmpty(t, control.inBackup(t, backup))
	require.NotEmpty(t, control.inNode(t, filepath.Join(data, "eventnode")))
	require.NotEmpty(t, control.inFolder(t, filepath.Join(data, "postgres")), "the search reads the write-ahead log")
	told, err := json.Marshal(named)
	require.NoError(t, err)
	require.Equal(t, []string{"the name of a voice"}, wanted.in(told))
	require.Equal(t, []string{"the e-mail address"},
		wanted.in([]byte(base64.StdEncoding.EncodeToString([]byte("x"+email)))))
}

// roundTrip is a function that implements http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// shownErasure is the output of recitalctl accounts erasure.
type shownErasure struct {
	State    string
	Complete bool
	Left     []struct {
		What  string
		Count int
	}
}

func (s *server) erasure(t *testing.T, id string) (shown shownErasure) {
	t.Helper()
	require.NoError(t, json.Unmarshal(s.recitalctl("accounts", "erasure", id, "--format", "json"), &shown))
	return shown
}
