package app

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Mistakes are all that is wrong with the settings, each with the setting's flag and variable.
type Mistakes []error

// Error returns a line for each mistake.
func (m Mistakes) Error() string {
	if len(m) == 1 {
		return m[0].Error()
	}
	lines := []string{fmt.Sprintf("%d settings are wrong:", len(m))}
	for _, mistake := range m {
		lines = append(lines, "  "+mistake.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.Is and errors.As see each mistake.
func (m Mistakes) Unwrap() []error { return m }

// add notes what is wrong with the setting of a flag, if anything is.
func (m *Mistakes) add(flag string, err error) {
	if err != nil {
		*m = append(*m, fmt.Errorf("--%s (%s): %w", flag, variable(flag), err))
	}
}

// when notes a mistake if it is one.
func (m *Mistakes) when(wrong bool, flag, message string) {
	if wrong {
		m.add(flag, errors.New(message))
	}
}

// all returns the mistakes as an error, in the order of their flags, and nil if there are none.
func (m Mistakes) all() error {
	if len(m) == 0 {
		return nil
	}
	return Mistakes(slices.SortedFunc(slices.Values(m), func(a, b error) int { return strings.Compare(a.Error(), b.Error()) }))
}

// variable returns the environment variable of a flag.
func variable(flag string) string {
	return "RECITAL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Validate returns everything that cannot work or is not safe, as Mistakes.
func (c Config) Validate() error {
	c = c.withDefaults()
	var m Mistakes
	c.checkMode(&m)
	for _, l := range []struct{ flag, name, address string }{
		{"http-addr", "the public address", c.HTTPAddr}, {"admin-addr", "the admin address", c.AdminAddr},
	} {
		if err := c.checkListener(l.address); err != nil {
			m.add(l.flag, fmt.Errorf("%s %q: %w", l.name, l.address, err))
		}
	}
	m.when(c.HTTPAddr == c.AdminAddr && !strings.HasSuffix(c.AdminAddr, ":0"), "admin-addr", "it is the public address, too; each needs its own")
	c.checkPublicURL(&m)
	c.checkNumbers(&m)
	c.checkTwice(&m)
	c.checkBlobs(&m)
	m.when(c.AlertDisk > 100, "alert-disk", "it must be at most 100 per cent")
	c.checkSessions(&m)
	c.checkSignIn(&m)
	c.checkPayments(&m)
	c.checkHosting(&m)
	c.checkRates(&m)
	m.add("otlp-endpoint", c.checkTraces())
	return m.all()
}

// checkNumbers compares numbers and times with the least that they may be.
func (c Config) checkNumbers(m *Mistakes) {
	values := reflect.ValueOf(c)
	for i := range values.NumField() {
		field := values.Type().Field(i)
		flag, least := field.Tag.Get("name"), cmp.Or(field.Tag.Get("least"), "0")
		if limit, isNumber := numberIn(field.Type, least); isNumber && flag != "" {
			value, _ := numberIn(field.Type, fmt.Sprint(values.Field(i).Interface()))
			m.when(value < limit, flag, "it must be at least "+least)
		}
	}
}

// withDefaults returns the settings with the defaults of those that are zero.
func (c Config) withDefaults() Config {
	values := reflect.ValueOf(&c).Elem()
	for i := range values.NumField() {
		field, value := values.Type().Field(i), values.Field(i)
		text, has := field.Tag.Lookup("default")
		if !has || !value.IsZero() || field.Tag.Get("zero") != "" {
			continue
		}
		if number, isNumber := numberIn(field.Type, text); isNumber {
			value.Set(reflect.ValueOf(number).Convert(field.Type))
		} else {
			value.SetString(text)
		}
	}
	return c
}

// numberIn returns the value of a text for a field that is a number or a time (in nanoseconds).
func numberIn(of reflect.Type, text string) (value float64, isNumber bool) {
	switch {
	case of == reflect.TypeFor[time.Duration]():
		d, _ := time.ParseDuration(text)
		return float64(d), true
	case of.Kind() == reflect.Int, of.Kind() == reflect.Float64:
		_, _ = fmt.Sscan(text, &value)
		return value, true
	}
	return 0, false
}

// checkFiles returns what is wrong with the files that are set, as Mistakes. Validate looks at no file.
func (c Config) checkFiles() error {
	var m Mistakes
	for _, s := range c.Settings() {
		if strings.HasSuffix(s.Flag, "-file") && s.Value != "" {
			m.add(s.Flag, checkFile(s.Value))
		}
	}
	for name, setting := range c.providers() {
		if _, _, file, err := splitProvider(setting); setting != "" && err == nil {
			m.add(strings.ReplaceAll(name, "_", "-"), checkFile(file))
		}
	}
	return m.all()
}

func checkFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("its file cannot be read: %w", err)
	}
	defer f.Close()
	if _, err := f.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("its file is empty or cannot be read: %w", err)
	}
	return nil
}

// checkMode lists everything that mode prod lacks.
func (c Config) checkMode(m *Mistakes) {
	if c.Mode != modeProd {
		return
	}
	for _, need := range []struct{ value, flag, what string }{
		{cmp.Or(c.EventStore, c.EventStoreFile), "eventstore", "the connection string of an EventStoreDB or KurrentDB, or its file"},
		{cmp.Or(c.Postgres, c.PostgresFile), "postgres", "the address of a Postgres, or its file"},
		{c.OperatorTokenFile, "operator-token-file", "the file of the operators' token"},
		{c.AuditorTokenFile, "auditor-token-file", "the file of the auditors' token"},
		{c.MasterKeyFile, "master-key-file", "the file of the key that wraps the accounts' keys"},
		{c.SigningKeyFile, "signing-key-file", "the file of the key that signs links"},
		{c.AuditKeyFile, "audit-key-file", "the file of the key that signs the audit chain"},
		{c.PublicURL, "public-url", "where clients reach the public address"},
		{cmp.Or(c.IDP1, c.IDP2, c.IDP3, c.IDP4), "idp-1", "an identity provider, here or as RECITAL_IDP_2 to _4"},
		{strings.Join(c.RedirectOrigins, ""), "redirect-origins", "where a sign-in may lead"},
		{cmp.Or(c.StripeKey, c.StripeKeyFile), "stripe-key", "the key of the payment provider, or RECITAL_STRIPE_KEY_FILE"},
		{cmp.Or(strings.Join(c.StripeSecret, ""), c.StripeSecretFile), "stripe-webhook-secret", "the secret of its webhooks, or RECITAL_STRIPE_WEBHOOK_SECRET_FILE"},
	} {
		m.when(need.value == "", need.flag, "mode prod brings nothing along; set "+need.what)
	}
	m.when(c.EventNodeAddr != "", "eventnode-addr", "mode prod runs no embedded event node; leave it unset")
}

// checkTwice refuses what is set as it is and as a file.
func (c Config) checkTwice(m *Mistakes) {
	for s := range c.secrets() {
		m.when(!s.value.IsZero() && s.file != "", s.flag, "it is set twice: as it is, and as a file (--"+s.flag+"-file)")
	}
}

// checkPublicURL takes an origin only: links are made by adding paths to it.
func (c Config) checkPublicURL(m *Mistakes) {
	if c.PublicURL == "" {
		return
	}
	u, err := url.Parse(c.PublicURL)
	m.when(err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "",
		"public-url", "the public URL must be http(s)://HOST or http(s)://HOST:PORT")
}

func (c Config) checkListener(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("not HOST:PORT: %w", err)
	}
	if c.Mode == modeProd || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return errors.New("dev mode serves on loopback addresses only")
	}
	return nil
}
