package s3

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Location is the place of a store's objects.
type Location struct {
	Bucket string
	Prefix string // of the objects' keys, without slashes at its ends; "" for none
	Host   string // HOST or HOST:PORT of the server
	Region string
	Plain  bool // HTTP without TLS
	// PlainMeant means that the URL states Plain explicitly.
	PlainMeant bool
}

// Scheme begins the URLs of locations.
const Scheme = "s3://"

const (
	amazon = "s3.amazonaws.com"
	// defaultRegion is the region for servers without regions.
	defaultRegion = "us-east-1"
)

var (
	bucketPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	prefixPattern = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)
	regionPattern = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
)

// ParseURL parses s3://BUCKET/PREFIX?endpoint=URL&region=REGION&tls=false. Without an endpoint it is Amazon's, which
// needs a region. Its errors do not quote the URL, which may contain a secret by mistake.
func ParseURL(text string) (Location, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.User != nil || u.Port() != "" || u.Fragment != "" || u.Opaque != "" {
		return Location{}, errors.New("blobs in S3 are s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION, without " +
			"credentials")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Location{}, errors.New("blobs in S3: the part after the question mark is not a query")
	}
	for name, values := range query {
		if name != "endpoint" && name != "region" && name != "tls" || len(values) != 1 {
			return Location{}, errors.New("blobs in S3: endpoint, region and tls may be given, each once, and nothing else")
		}
	}
	l := Location{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"), Region: query.Get("region")}
	if err := l.setEndpoint(query.Get("endpoint")); err != nil {
		return Location{}, err
	}
	if query.Has("tls") {
		if query.Get("tls") != "false" || !l.Plain {
			return Location{}, errors.New("blobs in S3: tls=false is for an endpoint that begins with http://, and there is " +
				"no other value")
		}
		l.PlainMeant = true
	}
	return l, l.check()
}

func (l *Location) setEndpoint(endpoint string) error {
	if endpoint == "" {
		if l.Region == "" {
			return errors.New("blobs in S3: without an endpoint it is Amazon's, and region is needed")
		}
		l.Host = amazon
		return nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("blobs in S3: the endpoint must be http(s)://HOST or http(s)://HOST:PORT")
	}
	l.Host, l.Plain = u.Host, u.Scheme == "http"
	if l.Region == "" {
		l.Region = defaultRegion
	}
	return nil
}

func (l *Location) check() error {
	switch {
	case !bucketPattern.MatchString(l.Bucket):
		return errors.New("blobs in S3: a bucket's name has 3 to 63 lower case letters, digits, dots and hyphens")
	case l.Prefix != "" && !prefixPattern.MatchString(l.Prefix) || len(l.Prefix) > 512:
		return errors.New("blobs in S3: the prefix is made of letters, digits and . _ -, with single slashes between, at " +
			"most 512 in all")
	case !regionPattern.MatchString(l.Region):
		return fmt.Errorf("blobs in S3: the region is a name such as %s", defaultRegion)
	}
	return nil
}
