package main_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// longestRequest is the time after which a request counts as hanging.
const longestRequest = 2 * time.Minute

// ask executes a request over HTTP on a new connection.
func (e soakRequest) ask() outcome {
	o := outcome{soakRequest: e, result: hungUp}
	conn, err := e.connect()
	if err != nil {
		o.result = "not connected"
		return o
	}
	defer conn.Close()
	if err := e.request().Write(conn); err != nil {
		return o.ended(err)
	}
	switch e.manner {
	case impatient:
		<-time.After(e.patience)
		o.most = e.characters()
		return o.possiblySaved()
	case closesHalf:
		if err := conn.CloseWrite(); err != nil {
			return o.ended(err)
		}
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return o.ended(err)
	}
	o.status, o.generation = response.StatusCode, response.Header.Get("X-Generation-Id")
	if o.status != http.StatusOK {
		o.result = refused
		return o
	}
	if counted := response.Header.Get("X-Character-Count"); counted != fmt.Sprint(e.characters()) {
		o.result = "miscounted: " + counted
		return o
	}
	return e.read(conn, response, o)
}

// read reads the body according to the client's manner.
func (e soakRequest) read(conn *net.TCPConn, response *http.Response, o outcome) outcome {
	var err error
	switch e.manner {
	case leaves, resets:
		_, err = io.CopyN(io.Discard, response.Body, int64(e.bytes))
		if err == nil {
			if e.manner == resets {
				_ = conn.SetLinger(0)
			}
			o.most = e.characters()
			return o.possiblySaved()
		}
		if errors.Is(err, io.EOF) {
			err = nil // the reply was shorter
		}
	case slow:
		err = readSlowly(response.Body)
	default:
		_, err = io.Copy(io.Discard, response.Body)
	}
	if err != nil {
		return o.ended(err)
	}
	o.result, o.least, o.most = whole, e.characters(), e.characters()
	if e.order["debug"] == true && e.way != "beta" {
		o.leastClips, o.mostClips = 1, 1
		if e.deletes {
			return e.deleteClip(response.Header.Get("X-Clip-Id"), o)
		}
	}
	return o
}

// ended returns the outcome of a request that did not succeed, possibly on purpose.
func (o outcome) ended(err error) outcome {
	o.result, o.most = cut, o.characters()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		o.result = stuck
	case o.manner == closesHalf:
		o.result = hungUp
	}
	return o.possiblySaved()
}

// possiblySaved records that the reply may have been delivered completely without the client's knowledge.
func (o outcome) possiblySaved() outcome {
	if o.order["debug"] == true && o.way != "beta" {
		o.mostClips = 1
	}
	return o
}

func (e soakRequest) deleteClip(id string, o outcome) outcome {
	response, err := http.DefaultClient.Do(e.customer.request(http.MethodDelete, "/v1/account/clip/"+id, nil))
	if err != nil {
		o.result = "clip not deleted"
		return o
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	if response.StatusCode != http.StatusOK {
		o.result, o.status = "clip not deleted", response.StatusCode
		return o
	}
	o.leastClips, o.mostClips = 0, 0
	return o
}

// connect returns a connection that fails if the request hangs.
func (e soakRequest) connect() (*net.TCPConn, error) {
	address := strings.TrimPrefix(e.customer.server.address, "http://")
	dialer := &net.Dialer{}
	if e.manner == slow {
		dialer = slowDialer()
	}
	conn, err := dialer.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(longestRequest)); err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// readSlowly reads with pauses, for a time that does not depend on the amount.
func readSlowly(from io.Reader) error {
	for pauses := 0; ; pauses++ {
		if pauses < 10 {
			<-time.After(10 * time.Millisecond)
		}
		if _, err := io.CopyN(io.Discard, from, 16<<10); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// request returns the HTTP request.
func (e soakRequest) request() *http.Request {
	fields := order{"text": e.text}
	for name, value := range e.order {
		fields[name] = value
	}
	if e.way == "get" {
		query := url.Values{}
		for name, value := range fields {
			query.Set(name, fmt.Sprint(value))
		}
		return e.customer.request(http.MethodGet, detailedRoute+"?"+query.Encode(), nil)
	}
	path := map[string]string{"detailed": detailedRoute, "beta": "/speech/beta/synthesize"}[e.way]
	if path == "" {
		path = bytesRoute
	}
	body, contentType := fields.as(e.way)
	request := e.customer.request(http.MethodPost, path, body)
	request.Header.Set("Content-Type", contentType)
	return request
}

// as returns the body and content type for a kind of request.
func (o order) as(way string) (body *bytes.Reader, contentType string) {
	switch way {
	case "urlencoded", "beta":
		form := url.Values{}
		for name, value := range o {
			form.Set(name, fmt.Sprint(value))
		}
		return bytes.NewReader([]byte(form.Encode())), "application/x-www-form-urlencoded"
	case "multipart":
		var form bytes.Buffer
		parts := multipart.NewWriter(&form)
		for name, value := range o {
			_ = parts.WriteField(name, fmt.Sprint(value)) // writing to a buffer never fails
		}
		_ = parts.Close()
		return bytes.NewReader(form.Bytes()), parts.FormDataContentType()
	default:
		return o.encode(), "application/json"
	}
}
