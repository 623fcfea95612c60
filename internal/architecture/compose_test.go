package architecture_test

// The container setup is checked as far as this is possible without Docker: that its parts fit together, that recitald
// accepts the settings, and that no access is left open.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/providers/blobs/s3"
)

const (
	root    = "../.." // the folder of docker-compose.yml
	compose = root + "/deploy/compose"
	data    = "./deploy/compose/data" // the data folders
)

// project is the part of docker-compose.yml that the tests check. Merge keys are resolved.
type project struct {
	Version  string
	Services map[string]service
	Networks map[string]struct{ Internal bool }
	Volumes  map[string]any
	Secrets  map[string]struct{ File string }
}

type service struct {
	Image       string
	Build       string
	Restart     string
	User        string
	Hostname    string
	ReadOnly    bool   `yaml:"read_only"`
	GracePeriod string `yaml:"stop_grace_period"`
	Environment map[string]string
	Command     []string
	Ports       []string
	Profiles    []string
	Networks    []string
	NetworkMode string `yaml:"network_mode"`
	Secrets     []string
	Volumes     []string
	Tmpfs       []string
	Healthcheck *struct{ Test []string }
	DependsOn   dependencies `yaml:"depends_on"`
}

// dependencies maps services to their conditions. The short form means service_started.
type dependencies map[string]dependency

type dependency struct {
	Condition string
	Required  *bool
}

func (d *dependencies) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.MappingNode {
		return node.Decode((*map[string]dependency)(d))
	}
	var names []string
	if err := node.Decode(&names); err != nil {
		return err
	}
	*d = dependencies{}
	for _, name := range names {
		(*d)[name] = dependency{Condition: "service_started"}
	}
	return nil
}

func load(t *testing.T) project {
	t.Helper()
	var p project
	require.NoError(t, yaml.Unmarshal(read(t, filepath.Join(root, "docker-compose.yml")), &p))
	require.NotEmpty(t, p.Services)
	return p
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}

// runsOnce reports whether other services wait until this one has completed.
func (p project) runsOnce(name string) bool {
	for _, s := range p.Services {
		if s.DependsOn[name].Condition == "service_completed_successfully" {
			return true
		}
	}
	return false
}

// instances returns the recitald services.
func (p project) instances() map[string]service {
	found := map[string]service{}
	for name, s := range p.Services {
		if s.Build != "" {
			found[name] = s
		}
	}
	return found
}

func TestServicesArePinnedRestartedAndWatched(t *testing.T) {
	p := load(t)
	pinned := regexp.MustCompile(`^[a-z0-9./-]+:[A-Za-z0-9._-]*[0-9]+\.?[0-9A-Za-z._-]*$`)
	assert.Empty(t, p.Version, "the key version is obsolete")
	for name, s := range p.Services {
		if s.Build == "" {
			assert.Regexp(t, pinned, s.Image, name)
		}
		if p.runsOnce(name) {
			assert.Equal(t, "no", s.Restart, name)
			continue
		}
		assert.Equal(t, "unless-stopped", s.Restart, name)
		assert.NotEmpty(t, s.GracePeriod, name)
		if s.Build != "" {
			assert.Contains(t, string(read(t, filepath.Join(root, "Dockerfile"))), "\nHEALTHCHECK ", name)
			continue
		}
		if assert.NotNil(t, s.Healthcheck, name) {
			assert.Equal(t, "CMD", s.Healthcheck.Test[0], "%s: without a shell around it", name)
		}
	}
}

func TestServicesReferOnlyToWhatExists(t *testing.T) {
	p := load(t)
	used := map[string]bool{}
	for name, s := range p.Services {
		for other, dependency := range s.DependsOn {
			needed, found := p.Services[other]
			assert.True(t, found, "%s depends on %s", name, other)
			// Compose refuses to start a service that depends on a service of an inactive profile, unless that is marked as not
			// required.
			if len(s.Profiles) == 0 && len(needed.Profiles) > 0 {
				assert.True(t, dependency.Required != nil && !*dependency.Required, "%s needs %s of another profile", name, other)
			}
		}
		for _, secret := range s.Secrets {
			assert.Contains(t, p.Secrets, secret, name)
		}
		for _, network := range s.Networks {
			assert.Contains(t, p.Networks, network, name)
		}
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			used[source] = true
			if source == data {
				continue // created by setup.sh
			}
			if strings.HasPrefix(source, ".") {
				assert.FileExists(t, filepath.Join(root, source), name)
				continue
			}
			assert.Contains(t, p.Volumes, source, name)
		}
	}
	for volume := range p.Volumes {
		assert.True(t, used[volume], "the volume %s is not used", volume)
	}
}

func TestOnlyTheBalancerIsReachable(t *testing.T) {
	p := load(t)
	require.True(t, p.Networks["data"].Internal)
	for name, s := range p.Services {
		switch {
		case name == "balancer":
			assert.Equal(t, []string{"public"}, s.Networks)
			assert.Equal(t, []string{"${RECITAL_PUBLISH:-127.0.0.1:8080}:8080"}, s.Ports, "published on loopback, unless asked")
			continue
		case s.Build != "":
			assert.ElementsMatch(t, []string{"public", "data"}, s.Networks, name)
		case s.NetworkMode == "":
			assert.Equal(t, []string{"data"}, s.Networks, name)
		}
		assert.Empty(t, s.Ports, name)
	}
}

func TestNoPasswordIsWrittenDown(t *testing.T) {
	for name, s := range load(t).Services {
		for key, value := range s.Environment {
			if !strings.Contains(key, "PASSWORD") && !strings.Contains(key, "TOKEN") {
				continue
			}
			fromFile := strings.HasSuffix(key, "_FILE") && strings.HasPrefix(value, "/run/secrets/")
			demanded := strings.HasPrefix(value, "${") && strings.Contains(value, ":?")
			assert.True(t, fromFile || demanded, "%s: %s is neither a secret's file nor demanded from .env", name, key)
		}
	}
}

func TestTheInstancesAreConfinedAndHaveTimeToDrain(t *testing.T) {
	instances := load(t).instances()
	require.Len(t, instances, 2)
	hosts := map[string]bool{}
	for name, s := range instances {
		assert.True(t, s.ReadOnly, name)
		assert.NotEmpty(t, s.User, name)
		assert.Equal(t, "60s", s.GracePeriod, "%s: recitald drains for 25 s", name)
		// The lease on the read models identifies an instance by its host name and its data folder.
		assert.NotEmpty(t, s.Hostname, name)
		hosts[s.Hostname] = true
	}
	assert.Len(t, hosts, len(instances))
}

func TestRecitaldAcceptsWhatItIsGiven(t *testing.T) {
	for _, profile := range []string{"single", "cluster"} {
		t.Run(profile, func(t *testing.T) {
			folder, env := setUp(t, profile)
			for name, s := range load(t).instances() {
				t.Run(name, func(t *testing.T) {
					cfg := parse(t, s.Environment, env)
					assert.Equal(t, "prod", cfg.Mode)
					requireMounted(t, s, cfg.OperatorTokenFile, cfg.AuditorTokenFile, cfg.MasterKeyFile, cfg.SigningKeyFile,
						cfg.AuditKeyFile)

					store := connection(t, cfg.EventStore, folder)
					assert.Equal(t, profile == "single", store.DisableTLS)
					if profile == "cluster" {
						assert.Len(t, store.GossipSeeds, 3)
						assert.Equal(t, []any{"admin", env["EVENTSTORE_ADMIN_PASSWORD"]}, []any{store.Username, store.Password})
						assert.NotNil(t, store.RootCAs, "the cluster's certificate authority is not trusted")
						assert.False(t, store.SkipCertificateVerification)
					}
				})
			}
		})
	}
}

// parse parses the environment as recitald does, which refuses invalid values. Kong ignores unknown variables, so
// they are checked here.
func parse(t *testing.T, environment, env map[string]string) app.Config {
	t.Helper()
	var cfg app.Config
	parser, err := app.NewParser(&cfg)
	require.NoError(t, err)
	known := settings(t)
	for key, value := range environment {
		if assert.Contains(t, known, key, "recitald knows no %s", key) {
			t.Setenv(key, interpolate(t, value, env))
		}
	}
	_, err = parser.Parse(nil)
	require.NoError(t, err)
	return cfg
}

// connection returns the client library's interpretation of a connection string, once the authority's certificate
// exists.
func connection(t *testing.T, text, folder string) *esdb.Configuration {
	t.Helper()
	authority := filepath.Join(folder, "ca.crt")
	require.NoError(t, os.WriteFile(authority, read(t, "testdata/ca.crt"), 0o600))
	store, err := esdb.ParseConnectionString(strings.ReplaceAll(text, "/run/eventstore/ca.crt", authority))
	require.NoError(t, err)
	require.NoError(t, store.Validate())
	return store
}

func requireMounted(t *testing.T, s service, files ...string) {
	t.Helper()
	for _, file := range files {
		name, found := strings.CutPrefix(file, "/run/secrets/")
		require.True(t, found, file)
		require.Contains(t, s.Secrets, name)
	}
}

func TestSetUpDrawsSecretsThatOnlyTheirOwnerCanRead(t *testing.T) {
	folder, env := setUp(t, "cluster")
	_, other := setUp(t, "cluster")
	secrets := filepath.Join(folder, "deploy/compose")
	seen := map[string]string{}
	for name, secret := range load(t).Secrets {
		path := filepath.Join(folder, secret.File)
		require.True(t, strings.HasPrefix(path, secrets), "in the folder that git ignores")
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode(), name)
		content := strings.TrimSpace(string(read(t, path)))
		assert.GreaterOrEqual(t, len(content), 64, name)
		assert.Empty(t, seen[content], "%s and %s are the same", name, seen[content])
		seen[content] = name
	}
	// Postgres's password file has the password of the server.
	password := strings.TrimSpace(string(read(t, filepath.Join(secrets, "secrets/postgres-password"))))
	assert.Equal(t, "postgres:5432:recital:recital:"+password,
		strings.TrimSpace(string(read(t, filepath.Join(secrets, "secrets/pgpass")))))
	assert.Contains(t, env["RECITAL_EVENTSTORE"], "esdb://admin:"+env["EVENTSTORE_ADMIN_PASSWORD"]+"@")
	assert.NotEqual(t, "0", env["RECITAL_UID"], "not root")
	assert.NotEqual(t, env["EVENTSTORE_ADMIN_PASSWORD"], other["EVENTSTORE_ADMIN_PASSWORD"])

	// A second run changes nothing: stores with data keep their initial passwords.
	again := exec.Command("/bin/sh", filepath.Join(secrets, "setup.sh"), "single")
	output, err := again.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(output), "it is kept")
	assert.Equal(t, env, readEnv(t, filepath.Join(folder, ".env")))
}

// The instances share a bucket, which another service creates first, and no folder.
func TestInstancesShareTheAudioOfClips(t *testing.T) {
	_, env := setUp(t, "single")
	p := load(t)
	store, bucket := p.Services["minio"], p.Services["minio-bucket"]
	for name, s := range p.instances() {
		cfg := parse(t, s.Environment, env)
		require.NoError(t, cfg.Validate(), name)
		location, err := s3.ParseURL(cfg.Blobs)
		require.NoError(t, err)
		assert.Equal(t, "minio:9000", location.Host)
		assert.Equal(t, store.Environment["MINIO_ROOT_USER"], cfg.S3AccessKey)
		assert.Equal(t, store.Environment["MINIO_ROOT_PASSWORD_FILE"], cfg.S3SecretKeyFile)
		requireMounted(t, s, cfg.S3SecretKeyFile)
		assert.Equal(t, "service_completed_successfully", s.DependsOn["minio-bucket"].Condition)
		require.Len(t, bucket.Command, 1)
		assert.Contains(t, bucket.Command[0], "mc mb --ignore-existing store/"+location.Bucket)
		assert.Contains(t, bucket.Command[0], "http://"+location.Host+" "+cfg.S3AccessKey)
		for _, volume := range s.Volumes {
			assert.NotContains(t, volume, "blobs")
		}
	}
	requireMounted(t, bucket, store.Environment["MINIO_ROOT_PASSWORD_FILE"])
	assert.Equal(t, "service_healthy", bucket.DependsOn["minio"].Condition)
}

// Replies that wait to be sent are kept in the data folder instead of memory.
func TestEachInstanceHasADataFolderOnTheDisk(t *testing.T) {
	folder, env := setUp(t, "single")
	seen := map[string]bool{}
	for name, s := range load(t).instances() {
		cfg := parse(t, s.Environment, env)
		assert.Contains(t, s.Volumes, data+":"+filepath.Dir(cfg.DataDir), name)
		assert.Equal(t, 4096, cfg.SpoolBudget, name)
		for _, memory := range s.Tmpfs {
			assert.False(t, strings.HasPrefix(cfg.DataDir+"/", memory+"/"), "%s: %s is memory", name, memory)
		}
		seen[cfg.DataDir] = true
	}
	assert.Len(t, seen, 2, "each instance has its own")
	info, err := os.Stat(filepath.Join(folder, data))
	require.NoError(t, err, "Docker would create a missing folder, owned by root")
	assert.Equal(t, os.ModeDir|0o700, info.Mode())
	assert.Contains(t, strings.Split(string(read(t, compose+"/.gitignore")), "\n"), "/data/")
}

// If recitald saw the balancer's address, all clients would share one limit.
func TestAddressLimitsApplyToTheClientsAddress(t *testing.T) {
	_, env := setUp(t, "single")
	for name, s := range load(t).instances() {
		assert.NotEmpty(t, parse(t, s.Environment, env).TrustedProxies, name)
	}
	assert.Contains(t, string(read(t, compose+"/haproxy.cfg")), "http-request set-header x-forwarded-for %[src]")
}

func TestTheExampleListsEverySetting(t *testing.T) {
	_, env := setUp(t, "single")
	example := string(read(t, compose+"/env.example"))
	for name := range env {
		assert.Contains(t, example, "\n"+name+"=")
	}
	for _, variable := range regexp.MustCompile(`\$\{([A-Z_0-9]+):-([^}]*)\}`).FindAllStringSubmatch(
		string(read(t, filepath.Join(root, "docker-compose.yml"))), -1) {
		assert.Contains(t, example, "# "+variable[1]+"="+variable[2])
	}
}

// setUp runs setup.sh in a temporary folder, and returns the folder and the settings that it wrote.
func setUp(t *testing.T, profile string) (folder string, env map[string]string) {
	t.Helper()
	folder = t.TempDir()
	place := filepath.Join(folder, "deploy/compose")
	require.NoError(t, os.MkdirAll(place, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(place, "setup.sh"), read(t, compose+"/setup.sh"), 0o700))
	output, err := exec.Command("/bin/sh", filepath.Join(place, "setup.sh"), profile).CombinedOutput()
	require.NoError(t, err, string(output))
	env = readEnv(t, filepath.Join(folder, ".env"))
	require.Equal(t, profile, env["COMPOSE_PROFILES"])
	return folder, env
}

func readEnv(t *testing.T, path string) map[string]string {
	t.Helper()
	env := map[string]string{}
	for line := range strings.Lines(string(read(t, path))) {
		name, value, found := strings.Cut(strings.TrimSpace(line), "=")
		if found && !strings.HasPrefix(name, "#") {
			env[name] = strings.Trim(value, "'")
		}
	}
	return env
}

var variable = regexp.MustCompile(`\$\{([A-Z_0-9]+)(:[-?])?([^}]*)\}`)

// interpolate replaces ${NAME}, ${NAME:-default} and ${NAME:?message} as Docker Compose does.
func interpolate(t *testing.T, text string, env map[string]string) string {
	t.Helper()
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		parts := variable.FindStringSubmatch(found)
		value := env[parts[1]]
		if value == "" && parts[2] == ":-" {
			return parts[3]
		}
		assert.NotEmpty(t, value, "%s is not set: %s", parts[1], parts[3])
		return value
	})
}

func TestTheBalancerKnowsTheInstances(t *testing.T) {
	config := string(read(t, compose+"/haproxy.cfg"))
	var servers []string
	for _, server := range regexp.MustCompile(`(?m)^\s+server (\S+) (\S+)$`).FindAllStringSubmatch(config, -1) {
		servers = append(servers, server[1]+" at "+server[2])
	}
	var instances []string
	for name, s := range load(t).instances() {
		_, port, _ := strings.Cut(s.Environment["RECITAL_HTTP_ADDR"], ":")
		instances = append(instances, fmt.Sprintf("%s at %s:%s", name, name, port))
	}
	assert.ElementsMatch(t, slices.Repeat(instances, 2), servers, "once where readiness counts, once for others")
	// After any other failure, the request may already have been executed.
	assert.Equal(t, []string{"retry-on conn-failure"}, regexp.MustCompile(`retry-on .*`).FindAllString(config, -1))
	// The query of a request contains the text to speak.
	assert.NotRegexp(t, `log-format.*%(HU|HQ|HP |r|\{)`, config)
}

func TestTheImageHasThePackagesOfTheBuild(t *testing.T) {
	dockerfile := string(read(t, filepath.Join(root, "Dockerfile")))
	build, runtime, found := strings.Cut(dockerfile, "\nFROM debian:bookworm-slim\n")
	require.True(t, found)
	installs := string(read(t, root+"/deploy/deps.sh"))
	for _, need := range regexp.MustCompile(`(?m)^\s*need (\S+) `).FindAllStringSubmatch(installs, -1) {
		switch need[1] {
		case "chromium", "curl", "ffmpeg", "haproxy", "nodejs", "python3-venv", "sox": // of tests
		case "npm", "python3-pip", "zstd": // of make voices
		case "asterisk-core-sounds-en", "asterisk-core-sounds-en-g722", "python3-torchaudio": // of make neural-report
		case "postgresql":
			assert.NotContains(t, dockerfile, "postgresql", "recitald uses one that runs elsewhere")
		case `"$library-dev"`:
			for _, library := range []string{"libavcodec", "libavformat", "libavutil", "libswresample"} {
				assert.Contains(t, build, " "+library+"-dev")
				assert.Regexp(t, ` `+library+`\d`, runtime)
			}
		default:
			assert.Contains(t, build, " "+need[1])
		}
	}
	for _, library := range []string{"libespeak-ng1", "espeak-ng-data", "libflite1"} { // the engines and their voices
		assert.Regexp(t, `(?m) `+library+`( |$)`, runtime)
	}
	assert.NotContains(t, runtime, "-dev", "needed only for compiling")
	assert.Regexp(t, `(?m)^USER recital$`, runtime)
	assert.Regexp(t, `(?m)^ENTRYPOINT \["/usr/bin/tini", "--", "/usr/local/bin/recitald"\]$`, runtime,
		"no shell, so that signals arrive")
	for _, setting := range regexp.MustCompile(`\s(RECITAL_[A-Z_]+)=(\S+)`).FindAllStringSubmatch(runtime, -1) {
		assert.Contains(t, settings(t), setting[1])
	}
}

// settings returns the variables that recitald reads.
func settings(t *testing.T) (names []string) {
	t.Helper()
	parser, err := app.NewParser(&app.Config{})
	require.NoError(t, err)
	for _, flag := range parser.Model.Flags {
		names = append(names, flag.Envs...)
	}
	return names
}

func TestSecretsAndDataStayOutOfGitAndOfTheImage(t *testing.T) {
	lines := func(path string) []string { return strings.Split(string(read(t, path)), "\n") }
	for _, ignored := range []string{"/.env", "/.recital/"} {
		assert.True(t, slices.Contains(lines(filepath.Join(root, ".gitignore")), ignored), ignored)
	}
	assert.Contains(t, lines(compose+"/.gitignore"), "/secrets/")
	for _, ignored := range []string{".env", ".git", ".recital", "deploy"} {
		assert.Contains(t, lines(filepath.Join(root, ".dockerignore")), ignored)
	}
}
