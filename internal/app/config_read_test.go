package app_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
)

func TestAllMistakesAreNamedAtOnce(t *testing.T) {
	// given mistakes of every kind: in values, in what goes together, in files, in names
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	t.Setenv("RECITAL_ENGINES", "two")
	t.Setenv("RECITAL_LOG_LEVEL", "loud")
	t.Setenv("RECITAL_FAILURE_RATE", "-1")
	t.Setenv("RECITAL_SIGNING_KEY_FILE", empty)
	t.Setenv("RECITAL_IDP_2", "https://idp.example recital /nowhere/secret")

	_, err := readConfig(t, "--socket-idle", "3apples", "--codecs=-1", "--http-addr=0.0.0.0:80", "--voice=leah", "--master-key-file", "/nowhere/key",
		"--postgres=postgres://a", "--postgres-file="+empty)

	var mistakes app.Mistakes
	require.ErrorAs(t, err, &mistakes)
	for _, says := range []string{
		`--engines (RECITAL_ENGINES): "two" cannot be read`,
		`--log-level (RECITAL_LOG_LEVEL): "loud" is none of debug, info, warn, error`,
		`--failure-rate (RECITAL_FAILURE_RATE): the rate of wrong credentials cannot be negative`,
		`--signing-key-file (RECITAL_SIGNING_KEY_FILE): its file is empty`,
		`--idp-2 (RECITAL_IDP_2): its file cannot be read: open /nowhere/secret`,
		`--socket-idle (RECITAL_SOCKET_IDLE): "3apples" cannot be read`,
		`--codecs (RECITAL_CODECS): the numbers of processes cannot be negative`,
		`--http-addr (RECITAL_HTTP_ADDR): the public address "0.0.0.0:80": dev mode serves on loopback addresses only`,
		`--voice: there is no such setting`,
		`--master-key-file (RECITAL_MASTER_KEY_FILE): its file cannot be read: open /nowhere/key`,
		`--postgres (RECITAL_POSTGRES): it is set twice`,
		`--postgres-file (RECITAL_POSTGRES_FILE): its file is empty`,
	} {
		assert.ErrorContains(t, err, says)
	}
	assert.Len(t, mistakes, 12, err.Error())
	assert.Equal(t, 13, len(strings.Split(err.Error(), "\n")), "a line for each")
}

func TestSettingsSayWhereTheyAreFrom(t *testing.T) {
	t.Setenv("RECITAL_ENGINES", "3")
	t.Setenv("RECITAL_CODECS", "4")

	cfg, err := readConfig(t, "--codecs", "5", "--redirect-origins=https://a.example,https://b.example")
	require.NoError(t, err)

	found := map[string]app.Setting{}
	for _, s := range cfg.Settings() {
		found[s.Flag] = s
	}
	for _, want := range []app.Setting{
		{"engines", "RECITAL_ENGINES", "3", "environment"},
		{"codecs", "RECITAL_CODECS", "5", "flag"},
		{"decoders", "RECITAL_DECODERS", "0", "default"},
		{"socket-idle", "RECITAL_SOCKET_IDLE", "5m0s", "default"},
		{"drain-delay", "RECITAL_DRAIN_DELAY", "0s", "default"},
		{"redirect-origins", "RECITAL_REDIRECT_ORIGINS", "https://a.example,https://b.example", "flag"},
	} {
		assert.Equal(t, want, found[want.Flag])
	}
}

func TestSettingsHideSecrets(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"esdb://recital:marker@events:2113?tls=true", "esdb://recital:mar/ker:marker@a:2113,b:2113", "esdb://:marker@a:1",
		"postgres://recital:marker@db/recital?sslmode=verify-full", "postgres://db/recital?user=a&password=marker&sslmode=disable",
		"host=db user=recital password=marker", "host=db password='a marker' user=recital", "host=db PASSWORD = marker",
	} {
		cfg := app.Config{EventStore: address, Postgres: address}
		for _, s := range cfg.Settings() {
			assert.NotContains(t, s.Value, "marker", "%s of %s", s.Flag, address)
			if s.Flag == "postgres" {
				assert.Contains(t, s.Value, "(hidden)")
				assert.Regexp(t, `events:2113\?tls=true|a:2113,b:2113|a:1|db`, s.Value, "where it is remains to be seen")
			}
		}
	}

	// and no setting that is a secret by its name is shown
	secret := regexp.MustCompile(`(^|-)(key|secret|password|token)$`)
	var cfg app.Config
	values := reflect.ValueOf(&cfg).Elem()
	for i := range values.NumField() {
		switch field := values.Field(i); field.Interface().(type) {
		case string:
			field.SetString("marker")
		case []string:
			field.Set(reflect.ValueOf([]string{"marker"}))
		}
	}
	hidden := 0
	for _, s := range cfg.Settings() {
		if secret.MatchString(s.Flag) {
			assert.Equal(t, "(hidden)", s.Value, s.Flag)
			hidden++
		}
	}
	assert.GreaterOrEqual(t, hidden, 6)
}

// A setting has one name, written as a flag or as a variable, and the documentation knows it.
func TestEverySettingIsDocumentedUnderOneName(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(new(app.Config))
	require.NoError(t, err)
	var text strings.Builder
	for _, file := range []string{"README.md", "docs/operators.md"} {
		content, err := os.ReadFile(filepath.Join("..", "..", file))
		require.NoError(t, err)
		text.Write(content)
	}
	for _, flag := range parser.Model.Flags {
		if flag.Name == "help" {
			continue
		}
		name := "RECITAL_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		assert.Equal(t, name, flag.Envs[0])
		assert.True(t, regexp.MustCompile(name+`\b`).MatchString(text.String()), "neither the README nor the operator's guide has %s", name)
	}
}

func readConfig(t *testing.T, args ...string) (cfg app.Config, err error) {
	t.Helper()
	parser, err := kong.New(&cfg)
	require.NoError(t, err)
	err = app.ReadConfig(parser, &cfg, args)
	return cfg, err
}
