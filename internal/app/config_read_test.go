package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/http/adminapi"
)

func TestAllMistakesAreNamedAtOnce(t *testing.T) {
	// given mistakes in values, combinations, files and names
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	t.Setenv("RECITAL_ENGINES", "two")
	t.Setenv("RECITAL_LOG_LEVEL", "loud")
	t.Setenv("RECITAL_ADDRESS_RATE", "-1")
	t.Setenv("RECITAL_SIGNING_KEY_FILE", empty)
	t.Setenv("RECITAL_IDP_2", "https://idp.example recital /nowhere/secret")
	t.Setenv("RECITAL_QUIET_ENCODER", "2s") // a setting of former builds
	t.Setenv("RECITAL_API_KEY", "rk_1")     // a client's

	_, err := readConfig(t, "--session-idle", "3apples", "--codecs=-1", "--http-addr=0.0.0.0:80", "--voice=leah",
		"--master-key-file", "/nowhere/key",
		"--postgres=postgres://a", "--postgres-file="+empty)

	var mistakes app.Mistakes
	require.ErrorAs(t, err, &mistakes)
	for _, says := range []string{
		`--engines (RECITAL_ENGINES): "two" cannot be read`,
		`--log-level (RECITAL_LOG_LEVEL): "loud" is none of debug, info, warn, error`,
		`--address-rate (RECITAL_ADDRESS_RATE): it must be at least 0`,
		`--signing-key-file (RECITAL_SIGNING_KEY_FILE): its file is empty`,
		`--idp-2 (RECITAL_IDP_2): its file cannot be read: open /nowhere/secret`,
		`--session-idle (RECITAL_SESSION_IDLE): "3apples" cannot be read`,
		`--codecs (RECITAL_CODECS): it must be at least 0`,
		`RECITAL_QUIET_ENCODER: there is no such setting`,
		`--http-addr (RECITAL_HTTP_ADDR): the public address "0.0.0.0:80": dev mode serves on loopback addresses only`,
		`--voice: there is no such setting`,
		`--master-key-file (RECITAL_MASTER_KEY_FILE): its file cannot be read: open /nowhere/key`,
		`--postgres (RECITAL_POSTGRES): it is set twice`,
		`--postgres-file (RECITAL_POSTGRES_FILE): its file is empty`,
	} {
		assert.ErrorContains(t, err, says)
	}
	assert.Len(t, mistakes, 13, err.Error())
	assert.Equal(t, 14, len(strings.Split(err.Error(), "\n")), "a line for each")
}

func TestSettingsSayWhereTheyAreFrom(t *testing.T) {
	t.Setenv("RECITAL_ENGINES", "3")
	t.Setenv("RECITAL_CODECS", "4")

	cfg, err := readConfig(t, "--codecs", "5", "--redirect-origins=https://a.example,https://b.example")
	require.NoError(t, err)

	found := map[string]adminapi.Setting{}
	for _, s := range cfg.Settings() {
		found[s.Flag] = s
	}
	for _, want := range []adminapi.Setting{
		{Flag: "engines", Variable: "RECITAL_ENGINES", Value: "3", From: "environment"},
		{Flag: "codecs", Variable: "RECITAL_CODECS", Value: "5", From: "flag"},
		{Flag: "alignments", Variable: "RECITAL_ALIGNMENTS", Value: "2", From: "default"},
		{Flag: "session-idle", Variable: "RECITAL_SESSION_IDLE", Value: "168h0m0s", From: "default"},
		{Flag: "drain-delay", Variable: "RECITAL_DRAIN_DELAY", Value: "0s", From: "default"},
		{
			Flag: "redirect-origins", Variable: "RECITAL_REDIRECT_ORIGINS",
			Value: "https://a.example,https://b.example", From: "flag",
		},
	} {
		assert.Equal(t, want, found[want.Flag])
	}
}

func TestSettingsHideSecrets(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"esdb://recital:marker@events:2113?tls=true", "esdb://recital:mar/ker:marker@a:2113,b:2113", "esdb://:marker@a:1",
		"postgres://recital:marker@db/recital?sslmode=verify-full",
		"postgres://db/recital?user=a&password=marker&sslmode=disable",
		"host=db user=recital password=marker", "host=db password='a marker' user=recital", "host=db PASSWORD = marker",
	} {
		cfg := app.Config{EventStore: address, Postgres: address}
		for _, s := range cfg.Settings() {
			assert.NotContains(t, s.Value, "marker", "%s of %s", s.Flag, address)
			if s.Flag == "postgres" {
				assert.Contains(t, s.Value, "(hidden)")
				assert.Regexp(t, `events:2113\?tls=true|a:2113,b:2113|a:1|db`, s.Value, "the host is shown")
			}
		}
	}

	// and settings with a secret's name are hidden
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
		if secret.MatchString(s.Flag) && s.Flag != "stripe-publishable-key" { // it is public
			assert.Equal(t, "(hidden)", s.Value, s.Flag)
			hidden++
		}
	}
	assert.GreaterOrEqual(t, hidden, 6)
}

// referenceFile documents the settings. RECITAL_WRITE_DOCS=1 makes the test write it.
const referenceFile = "../../docs/configuration.md"

func TestTheReferenceOfSettingsIsWhatThereIs(t *testing.T) {
	t.Parallel()
	wanted := reference(t)
	if os.Getenv("RECITAL_WRITE_DOCS") != "" {
		require.NoError(t, os.WriteFile(referenceFile, []byte(wanted), 0o644))
	}
	content, err := os.ReadFile(referenceFile)
	require.NoError(t, err)
	require.Equal(t, wanted, string(content),
		"docs/configuration.md does not match the settings; set RECITAL_WRITE_DOCS=1 to write it")
}

// referenceHead begins the reference.
const referenceHead = `# Settings

Each setting of recitald is a flag and an environment variable of the same meaning: ` + "`--http-addr` is\n`RECITAL_HTTP_ADDR`" + `.
A flag takes precedence. ` + "`recitald --print-config`" + ` shows the settings in effect, where they are from, and
everything that is wrong with them. A variable ` + "`RECITAL_…`" + ` that is no setting is an error at the start.

A secret is set as it is, or in a file: ` + "`RECITAL_X`, or `RECITAL_X_FILE`" + ` with the path of a file that has one secret a
line. These are marked with "or file". Keys and tokens are always files.

This page is generated from the settings (` + "`internal/app/settings.txt` and `config.go`" + `).
`

func reference(t *testing.T) string {
	parser, err := app.NewParser(new(app.Config))
	require.NoError(t, err)
	names := map[string]bool{}
	for _, flag := range parser.Model.Flags {
		names[flag.Name] = true
	}
	var text strings.Builder
	text.WriteString(referenceHead)
	group := ""
	for _, flag := range parser.Model.Flags {
		if secret, isFile := strings.CutSuffix(flag.Name, "-file"); flag.Name == "help" || isFile && names[secret] {
			continue
		}
		require.NotNil(t, flag.Group, "settings.txt does not explain --%s", flag.Name)
		if flag.Group.Key != group {
			group = flag.Group.Key
			fmt.Fprintf(&text, "\n## %s\n\n| setting | default | meaning |\n|---|---|---|\n", group)
		}
		name, set := "`"+flag.Envs[0]+"`", ""
		if names[flag.Name+"-file"] {
			name += ", or file"
		}
		if flag.HasDefault {
			set = "`" + flag.Default + "`"
		}
		meaning := strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(flag.Help)
		fmt.Fprintf(&text, "| %s | %s | %s |\n", name, set, meaning)
	}
	return text.String()
}

// notSettings are the variables of tests, of clients, of docker-compose.yml, and the examples of the reference.
var notSettings = regexp.MustCompile(
	`^RECITAL_(TEST|BENCH|SOAK|STORM|CLIENTS|WRITE_DOCS|API_KEY|UID|GID|IMAGE|PUBLISH|X)(_|$)`)

// Documents and deployment files name only settings that exist.
func TestNoDocumentNamesASettingThatDoesNotExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, s := range (app.Config{}).Settings() {
		known[s.Variable] = true
		known[s.Flag] = true
	}
	files, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	files = append(files, "../../README.md", "../../ARCHITECTURE.md", "../../docker-compose.yml", "../../Dockerfile",
		"../../deploy/recitald.service", "../../deploy/compose/README.md", "../../deploy/compose/env.example")
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, name := range regexp.MustCompile(`RECITAL_[A-Z0-9_]*[A-Z0-9]`).FindAllString(string(content), -1) {
			assert.True(t, known[name] || notSettings.MatchString(name), "%s names %s", file, name)
		}
	}
}

func readConfig(t *testing.T, args ...string) (cfg app.Config, err error) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); notSettings.MatchString(name) && name != "RECITAL_API_KEY" {
			t.Setenv(name, "") // restored by the test's cleanup
			require.NoError(t, os.Unsetenv(name))
		}
	}
	parser, err := app.NewParser(&cfg)
	require.NoError(t, err)
	err = app.ReadConfig(parser, &cfg, args)
	return cfg, err
}
