package app_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v84/webhook"

	accountsevents "github.com/recital-tts/recital/commands/accounts"
	ledgerevents "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo/pglist"
	"github.com/recital-tts/recital/internal/process/certificates"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/process/procfs"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/providers/blobs/s3"
	"github.com/recital-tts/recital/internal/providers/blobs/s3test"
	"github.com/recital-tts/recital/internal/providers/payments/stripe"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/standins"
	"github.com/recital-tts/recital/internal/standins/devidp"
	"github.com/recital-tts/recital/internal/standins/hostingplatform"
	"github.com/recital-tts/recital/internal/standins/sandbox"
	"github.com/recital-tts/recital/internal/testing/bintest"
	projections "github.com/recital-tts/recital/projections/ledger"
)

// finds returns the problems of a check, and requires that the check recognises them as its own.
func finds(t *testing.T, check health.Check) []health.Problem {
	t.Helper()
	finding := check.Look(t.Context())
	require.Equal(t, finding.State == health.OK, finding.Advice == "", finding.Found)
	require.False(t, finding.Unknown, finding.Found)
	for _, problem := range finding.Problems {
		require.True(t, check.Raises(problem.Condition))
		require.NotEmpty(t, problem.Detail)
		require.NotEqual(t, health.OK, finding.State)
	}
	require.False(t, check.Raises(alert.Condition{Source: "another", Subject: "another", Reason: "another"}))
	return finding.Problems
}

// Operators who rebuild and promote leave a generation behind each time, which is fed like the live one.
func TestGenerationsThatNobodyNeedsAreFound(t *testing.T) {
	model := app.ReadModels()[0]
	generation := func(number int, live bool, state feed.GenerationState) feed.Generation {
		return feed.Generation{Name: model.Name, Version: model.Version, Number: number, Live: live, State: state}
	}
	all := []feed.Generation{
		generation(1, false, feed.GenerationCurrent), generation(2, true, feed.GenerationCurrent),
		generation(3, false, feed.GenerationBuilding),
	}
	require.Equal(t, health.OK, app.GenerationsFinding(all, time.Minute).State, "one may be rolled back to")

	all[2].State = feed.GenerationCurrent

	found := app.GenerationsFinding(all, time.Minute)
	require.Equal(t, health.Warning, found.State)
	require.Contains(t, found.Found, model.Name+" version 1 generation 1")
	require.NotContains(t, found.Found, "generation 3", "the newest may be rolled back to")
	require.Contains(t, found.Advice, "recitalctl projections retire")
}

func TestADiskThatIsNearlyFullIsFound(t *testing.T) {
	t.Parallel()
	// given a small disk
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		bintest.Missing(t, "mounting a small disk: "+err.Error())
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	w := app.DiskCheck(disk, 90, 0)
	fill := func(kib int) {
		require.NoError(t, os.WriteFile(filepath.Join(disk, "filler"), make([]byte, kib<<10), 0o600))
	}
	fill(2 << 10)
	require.Empty(t, finds(t, w))

	// when it is nearly full, then the problem names the folder
	fill(3700) // 90.3 %
	require.Len(t, finds(t, w), 1)
	require.Equal(t, alert.Condition{
		Source: "disk", Subject: "host, folder " + disk, Reason: alert.DiskFull,
	}, finds(t, w)[0].Condition)

	// and slightly less does not end the alert
	fill(3660) // 89.4 %
	require.Len(t, finds(t, w), 1)
	fill(3600) // 87.9 %
	require.Empty(t, finds(t, w))
	fill(3660)
	require.Empty(t, finds(t, w), "nor does it raise one")

	// and the minimum of free bytes counts, too
	require.Len(t, finds(t, app.DiskCheck(disk, 95, 1<<20)), 1)
	require.Empty(t, finds(t, app.DiskCheck(disk, 95, 100<<10)))
}

func TestAMissingFolderIsNotAFullDisk(t *testing.T) {
	finding := app.DiskCheck(filepath.Join(t.TempDir(), "gone"), 90, 0).Look(t.Context())
	require.True(t, finding.Unknown)
	require.Equal(t, health.Fault, finding.State)
}

// engines starts workers of a copy of the binary, which a test can kill without killing others' workers.
func engines(t *testing.T) (pool *worker.Pool, kill func()) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "engine")
	require.NoError(t, os.Symlink(speechworker.Path(), binary))
	pool, err := worker.Open(worker.Config{
		Command: workers.Command{Path: binary, Args: []string{"engine"}}, Size: 1, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return pool, func() {
		for _, pid := range procfs.Children(os.Getpid()) {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
			if strings.HasPrefix(string(line), binary) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

func TestDyingWorkersAreFound(t *testing.T) {
	t.Parallel()
	pool, kill := engines(t)
	looping := alert.Condition{Source: "workers/espeak-ng", Subject: "host", Reason: alert.CrashLoop}
	failing := alert.Condition{Source: "speech", Subject: "host", Reason: alert.Failing}
	crashes := app.CrashCheck(looping, time.Hour, func() (int, uint64) { s := pool.Stats(); return s.Alive, s.Respawns })
	failures := app.FailureCheck(failing, 50,
		func() health.Tally { s := pool.Stats(); return health.Tally{All: s.Jobs, Bad: s.Failed} })
	require.Eventually(t, func() bool { return pool.Stats().Alive == 1 }, patience, time.Millisecond)
	require.Empty(t, finds(t, crashes))
	require.Empty(t, finds(t, failures))

	// when workers are repeatedly killed during their jobs, then both problems are found
	for pool.Stats().Failed < 5 || pool.Stats().Respawns < 5 {
		u, err := pool.Speak(t.Context(), enginetest.Job(strings.Repeat("nine hundred and ninety-nine thousand, ", 200)))
		if err != nil {
			require.ErrorIs(t, err, speech.ErrEngineFailed)
			continue
		}
		for err == nil {
			kill()
			_, err = u.Next(t.Context())
		}
		u.Close()
	}
	require.Equal(t, looping, finds(t, crashes)[0].Condition)
	require.Equal(t, failing, finds(t, failures)[0].Condition)

	// and once they have lived for long enough, no problem is found
	brief := app.CrashCheck(looping, time.Nanosecond,
		func() (int, uint64) { s := pool.Stats(); return s.Alive, s.Respawns })
	require.Eventually(t, func() bool { return len(finds(t, brief)) == 0 }, patience, time.Millisecond)
}

func TestRefusedNoticesAreFound(t *testing.T) {
	t.Parallel()
	const secret = "whsec_right"
	real, err := stripe.NewNotices(secret)
	require.NoError(t, err)
	refused := alert.Condition{Source: "payments", Subject: "host", Reason: alert.Refused}
	notices, miss, w := app.NoticesCheck(refused, real)
	body := []byte(`{"id":"evt_1","object":"event","api_version":"2026-02-25.clover","created":1790000000,"type":"customer.subscription.updated",` +
		`"data":{"object":{"id":"sub_1","object":"subscription","customer":"cus_1"}}}`)
	notify := func(secret string) error {
		signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: secret})
		_, err := notices.Verify(body, signed.Header, time.Now())
		return err
	}
	require.Empty(t, finds(t, w))
	for range 4 {
		require.Error(t, notify("whsec_wrong"))
	}
	require.Empty(t, finds(t, w), "strangers try")
	for range 100 {
		require.Error(t, notify("whsec_wrong"))
	}
	require.Equal(t, health.Warning, w.Look(t.Context()).State)
	miss(time.Now().Add(-time.Hour))
	require.Empty(t, finds(t, w), "strangers raise no alert, even if notices were missed before the start")
	miss(time.Now().Add(time.Second))
	require.Equal(t, refused, finds(t, w)[0].Condition)
	require.NoError(t, notify(secret))
	require.Empty(t, finds(t, w), "the secret is correct")
}

func TestAProviderThatIsDownIsFound(t *testing.T) {
	t.Parallel()
	provider, err := sandbox.Open(sandbox.Config{
		File: filepath.Join(t.TempDir(), "sandbox"), Key: "sk_test", WebhookSecret: "whsec",
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	require.NoError(t, app.Reach(t.Context(), provider.URL()))
	require.NoError(t, provider.Close())
	require.Error(t, app.Reach(t.Context(), provider.URL()))

	platform, err := hostingplatform.Open(hostingplatform.Config{ClientID: "id", ClientSecret: "secret"})
	require.NoError(t, err)
	require.NoError(t, app.Reach(t.Context(), platform.URL()))
	require.NoError(t, platform.Close())
	require.Error(t, app.Reach(t.Context(), platform.URL()))

	ln, err := standins.Listen("127.0.0.1:0")
	require.NoError(t, err)
	people, err := devidp.New(ln, []string{"idp_1"}, "127.0.0.1", "")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- people.Run(t.Context()) }()
	require.NoError(t, app.Reach(t.Context(), people.Issuer("idp_1")+"/.well-known/openid-configuration"))
	require.NoError(t, people.Close())
	<-ended
	require.Error(t, app.Reach(t.Context(), people.Issuer("idp_1")+"/.well-known/openid-configuration"))

	// a provider that returns server errors is down, one that refuses a request without a key is not
	status := http.StatusBadGateway
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(front.Close)
	require.ErrorContains(t, app.Reach(t.Context(), front.URL), "502")
	status = http.StatusUnauthorized
	require.NoError(t, app.Reach(t.Context(), front.URL))
}

func TestABlobStoreThatIsDownIsFound(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	location, err := s3.ParseURL(s3test.URL(server.Address(), "alerts"))
	require.NoError(t, err)
	store, err := s3.Open(t.Context(), s3.Config{
		Location: location, Folder: "alerts", AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey,
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	look, silent := app.WatchBlobs(store)
	isSilent := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		require.NoError(t, look(ctx))
		_, is := silent()
		return is
	}
	require.False(t, isSilent())
	server.Kill()
	began := time.Now()
	require.True(t, isSilent())
	since, _ := silent()
	require.WithinRange(t, since, began, time.Now())
	server.Restart(t)
	require.Eventually(t, func() bool { return !isSilent() }, patience, pause)
}

// certificate returns a certificate with the given end.
func certificate(t *testing.T, end time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.Add(-48 * time.Hour), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestACertificateThatEndsSoonIsFound(t *testing.T) {
	t.Parallel()
	// given a server with a certificate that expires in a day
	end := time.Now().Add(24 * time.Hour)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{certificate(t, end)}}, nil
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	host := server.Listener.Addr().String()
	served := certificates.Served("of the store", host, "443")
	require.Empty(t, finds(t, app.CertificateChecks(time.Hour, served)[0]))
	w := app.CertificateChecks(48*time.Hour, served)[0]
	ends := alert.Condition{Source: "expiry", Subject: "of the store", Reason: alert.Expiring}
	require.Equal(t, ends, finds(t, w)[0].Condition)
	require.Contains(t, finds(t, w)[0].Detail, end.UTC().Format(time.RFC3339)[:13])

	// an expired certificate is found, too, and a renewed one is not
	end = time.Now().Add(-time.Hour)
	require.Len(t, finds(t, w), 1)
	end = time.Now().Add(240 * time.Hour)
	require.Empty(t, finds(t, w))
	end = time.Now().Add(time.Hour)
	require.Len(t, finds(t, w), 1)
	server.Close()
	require.True(t, w.Look(t.Context()).Unknown, "without a connection the result is unknown")
}

func TestTheCertificatesOfAnEventStoreAreKnown(t *testing.T) {
	t.Parallel()
	file := func(ends ...time.Duration) string {
		var all []byte
		for _, end := range ends {
			one := certificate(t, time.Now().Add(end))
			all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.Certificate[0]})...)
		}
		path := filepath.Join(t.TempDir(), "certificate.pem")
		require.NoError(t, os.WriteFile(path, all, 0o600))
		return path
	}
	limit := 48 * time.Hour
	for name, c := range map[string]struct {
		connection string
		want       int
	}{
		"none":                       {"", 0},
		"without TLS":                {"esdb://127.0.0.1:1?tls=false&tlsCaFile=" + file(time.Hour), 0},
		"an authority that ends":     {"esdb://127.0.0.1:1?tls=true&tlsCaFile=" + file(time.Hour), 1},
		"a replaced authority":       {"esdb://127.0.0.1:1?tlsCAFile=" + file(time.Hour, 1000*time.Hour), 0},
		"a user's, with its issuer":  {"esdb://127.0.0.1:1?userCertFile=" + file(time.Hour, 1000*time.Hour), 1},
		"a file that is not there":   {"esdb://127.0.0.1:1?tlsCaFile=/nowhere", 0},
		"an authority that does not": {"esdb://127.0.0.1:1?tlsCaFile=" + file(1000*time.Hour), 0},
	} {
		t.Run(name, func(t *testing.T) {
			found := 0
			for _, check := range app.CertificateChecks(limit, app.StoreCertificates(c.connection)...) {
				found += len(check.Look(t.Context()).Problems)
			}
			require.Equal(t, c.want, found)
		})
	}
}

func TestAnUnendedReservationIsFound(t *testing.T) {
	t.Parallel()
	// given a reservation long past its expiry, and no worker that ends it
	w := feedtest.New(t, feedtest.Registry(t, ledgerevents.Events(), accountsevents.Events()), projections.ReadModels()...)
	list := pglist.NewView(w.Pool, readmodel.ToDoExpiryView)
	look := app.ReservationsCheck(list, 10*time.Minute)
	start := time.Now().UTC().Add(-24 * time.Hour)
	reserved := func(id string, expires time.Time) ledger.Reserved {
		return ledger.Reserved{Account: "a1", Reservation: id, Characters: 1, At: start, ExpiresAt: expires}
	}
	late, soon := uuid.NewString(), uuid.NewString()
	w.Write(t, "usage-a1-1", ledger.PeriodOpened{
		Account: "a1", Plan: plan.Enterprise, Start: start, End: start.AddDate(0, 1, 0),
	},
		reserved(soon, time.Now().UTC().Add(-5*time.Minute)))
	require.Empty(t, finds(t, look), "an instance may have just started")
	w.Append(t, "usage-a1-1", 1, reserved(late, time.Now().UTC().Add(-time.Hour)))
	require.Equal(t, alert.Condition{
		Source: "ledger", Subject: "reservations", Reason: alert.Unsettled,
	}, finds(t, look)[0].Condition)

	// when it ends, then no problem is found
	w.Append(t, "usage-a1-1", 2, ledger.Expired{Account: "a1", Reservation: late, At: start})
	require.Empty(t, finds(t, look))
}

// outside are the alert rules without a check: only Prometheus can detect that recitald is down, and measure its speed.
var outside = []string{
	"RecitalDown", "RecitalNotReady", "RecitalErrors", "RecitalNoRoom", "RecitalFirstAudioSlow", "RecitalEnginesBusy",
	"RecitalNodeSyncsSlow",
	"RecitalPostgresBusy", "RecitalWorkLate", "RecitalWorkGivenUp",
}

func TestTheAlertRulesAreThoseOfTheChecks(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../deploy/alerts.yml")
	require.NoError(t, err)
	var written []string
	for _, match := range regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllSubmatch(content, -1) {
		written = append(written, string(match[1]))
	}
	named := slices.Clone(outside)
	for _, check := range open(t, config(t)).Checks() {
		named = append(named, check.Rules...)
	}
	slices.Sort(named)
	slices.Sort(written)
	require.Equal(t, written, slices.Compact(named))
}
