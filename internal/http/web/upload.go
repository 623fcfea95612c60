package web

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/http/web/bind"
	"github.com/recital-tts/recital/internal/http/web/quota"
)

// fasthttp reads bodies into memory, or writes forms to files that have names, before anybody knows who sends them; and where
// it streams bodies, quiet connections keep their read buffers. So it is made to believe that an upload has no body, and the
// connection of a caller who is known is taken over from it, as that of a WebSocket is: what is left to be read there is the
// body. The connection is closed after the answer.

type uploadKey struct{}

// upload is a body that has not been read.
type upload struct {
	length int
	asked  bool // for an interim reply
}

// isUpload reports whether the files of a body go to the disk: a form's, whose length is announced.
func isUpload(header *fasthttp.RequestHeader, e *endpoint) bool {
	return e != nil && e.Uploads > 0 && header.ContentLength() > 0 && bind.IsMultipart(string(header.ContentType()))
}

// announceUpload hides an upload from fasthttp, and reports whether there is one.
func announceUpload(http *fasthttp.RequestCtx, e *endpoint, asked bool) bool {
	header := &http.Request.Header
	if !isUpload(header, e) {
		return false
	}
	http.SetUserValue(uploadKey{}, &upload{length: header.ContentLength(), asked: asked})
	header.SetContentLength(0)
	return true
}

// uploadOf returns the upload that a request announces, nil for none. Nothing follows it on its connection.
func uploadOf(http *fasthttp.RequestCtx) *upload {
	announced, ok := http.UserValue(uploadKey{}).(*upload)
	if ok {
		http.SetConnectionClose()
		connOf(http).LingerOnClose()
	}
	return announced
}

// answerWithUpload makes room for an upload, and reads and answers it on a connection that fasthttp has let go.
func (s *Server) answerWithUpload(v *visit) error {
	if v.upload == nil {
		return s.answer(v)
	}
	claim, err := s.uploads.Take(quota.Client(v.Client), int64(v.upload.length))
	switch {
	case errors.Is(err, quota.ErrShare):
		return TooManyRequests("Too many uploads of this address are under way", uploadPause)
	case err != nil:
		return errUploads
	}
	file, err := s.cfg.Uploads.Create(v.Principal.Account, int64(v.upload.length))
	if err != nil {
		claim.Release()
		return explainSpool(err)
	}
	admitted := v.release
	v.release = func() { file.Close(); claim.Release(); admitted() }
	var inTime func() bool
	v.http.HijackSetNoResponse(true)
	v.http.Hijack(func(from net.Conn) {
		if inTime() {
			s.answerUpload(v, from, file)
		}
	})
	inTime = s.takeOver(v)
	return nil
}

// uploadPause is when another attempt may find room.
const uploadPause = 5 * time.Second

var errUploads = &Error{Status: http.StatusServiceUnavailable, Message: "Too many uploads are under way", RetryAfter: uploadPause}

// explainSpool turns what a spool refuses into an answer.
func explainSpool(err error) error {
	switch {
	case errors.Is(err, spool.ErrShare):
		return TooManyRequests("Too many uploads of this account are under way", uploadPause)
	case errors.Is(err, spool.ErrFull):
		return errUploads
	}
	return errors.Join(domain.Refuse(domain.Unavailable, "The upload cannot be kept at present"), err)
}

// answerUpload does what fasthttp would.
func (s *Server) answerUpload(v *visit, from io.Reader, file *spool.File) {
	if err := s.tryUpload(v, from, file); err != nil {
		s.refuse(v, err)
	}
	size := bodySize(v.http)
	out := bufio.NewWriter(connOf(v.http))
	err := v.http.Response.Write(out)
	if err == nil {
		err = out.Flush()
	}
	if v.stream != nil {
		return
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", errClientGone, err)
	}
	s.close(v, size, err)
}

func (s *Server) tryUpload(v *visit, from io.Reader, file *spool.File) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = panicError(cause)
		}
	}()
	if err := s.readUpload(v, from, file); err != nil {
		return err
	}
	v.life.extend(v.Route.Timeout)
	return s.answer(v)
}

// readUpload takes the body apart.
func (s *Server) readUpload(v *visit, from io.Reader, file *spool.File) error {
	conn := connOf(v.http)
	conn.AwaitBody()
	defer conn.SetServing()
	v.life.extend(s.cfg.Limits.BodyTimeout + time.Minute) // reading ends before
	if v.upload.asked {
		if err := conn.Continue(); err != nil {
			return fmt.Errorf("%w: %w", errClientGone, err)
		}
	}
	body := bufio.NewReaderSize(&uploadBody{from: from, left: v.upload.length}, uploadBuffer)
	form, err := v.plan.ReadMultipart(string(v.http.Request.Header.ContentType()), body, v.Route.MaxBody, keepIn(file))
	if errors.Is(err, bind.ErrTexts) {
		return errTooLarge
	}
	v.form = form
	return err
}

// uploadBuffer is the size of the buffers between connection and disk: the reader of forms takes 4 KiB at a time.
const uploadBuffer = 64 << 10

// keepIn writes the files of a form one after the other into a file of the spool.
func keepIn(file *spool.File) bind.Keep {
	out := bufio.NewWriterSize(file, uploadBuffer)
	return func(content io.Reader) (*io.SectionReader, error) {
		begin := file.Size()
		_, err := out.ReadFrom(content)
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			return nil, explainSpool(err)
		}
		return io.NewSectionReader(file, begin, file.Size()-begin), nil
	}
}

// uploadBody reads as much as was announced.
type uploadBody struct {
	from io.Reader
	left int
}

func (b *uploadBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.left -= n
	switch {
	case err == nil, b.left == 0:
		return n, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, errNotInTime
	}
	return n, fmt.Errorf("%w: %w", errClientGone, err)
}
