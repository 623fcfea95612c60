package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"syscall"

	"github.com/minio/minio-go/v7"
)

// fault is why a request failed, without anything that may quote what was sent or received.
type fault struct {
	code   string // of the store, "" if it did not answer
	status int    // of HTTP, likewise
	cause  string // where there is no code
}

var codePattern = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)

// understand returns the fault of an error of the library.
func understand(err error) fault {
	if answer, ok := errors.AsType[minio.ErrorResponse](err); ok && answer.StatusCode != 0 {
		f := fault{code: answer.Code, status: answer.StatusCode}
		if !codePattern.MatchString(f.code) {
			f.code = "unknown"
		}
		return f
	}
	if answer, ok := errors.AsType[minio.ErrorResponse](err); ok && codePattern.MatchString(answer.Code) {
		return fault{code: answer.Code, status: http.StatusBadRequest} // the library itself refuses
	}
	return fault{cause: cause(err)}
}

func cause(err error) string {
	var (
		timeout net.Error
		errno   syscall.Errno
		name    *net.DNSError
		trust   *tls.CertificateVerificationError
	)
	switch {
	case errors.Is(err, errSlow), errors.Is(err, errAnswer):
		return err.Error()
	case errors.As(err, &trust):
		return "its certificate is not trusted"
	case errors.As(err, &name):
		return "its name leads nowhere"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	}
	return "the connection failed"
}

// refused reports whether the store answers and will not do it, now or later.
func (f fault) refused() bool {
	return f.status >= 300 && f.status < 500 && f.status != http.StatusRequestTimeout && f.status != http.StatusTooManyRequests
}

// String is for operators.
func (f fault) String() string {
	if f.code == "" {
		return f.cause
	}
	return fmt.Sprintf("%s (%d)", f.code, f.status)
}
