package alignment

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/quota"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/internal/speech/alignment"
	"github.com/recital-tts/recital/internal/speech/audio"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// aligner is an Aligner by a function of the test.
type aligner func(ctx context.Context) ([]alignment.Word, error)

func (a aligner) Align(ctx context.Context, _ audio.Upload, _, _ string) ([]alignment.Word, error) {
	return a(ctx)
}

func serve(t *testing.T, places *quota.Budget, a aligner) (url string) {
	t.Helper()
	return webtest.Serve(t, web.Config{Routes: (&API{Aligner: a, Places: places}).Routes()})
}

func post(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	return webtest.Send(t, http.MethodPost, url+"/v1/ai/speech/kanna?text=Hello", "a recording",
		"Content-Type", "application/octet-stream")
}

func TestWordsAreShown(t *testing.T) {
	url := serve(t, quota.New(1, 1), func(context.Context) ([]alignment.Word, error) {
		return []alignment.Word{{Text: "Hello", Start: 0.10049, End: 0.5, Confidence: 0.75}}, nil
	})
	response, body := post(t, url)
	require.Equal(t, 200, response.StatusCode)
	require.JSONEq(t, `[{"text":"Hello","start":0.1,"duration":0.4,"confidence":0.75}]`, body)
}

func TestAnAddressHasOneRecordingAtOnce(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	url := serve(t, quota.New(2, 1), func(context.Context) ([]alignment.Word, error) {
		begun <- struct{}{}
		<-end
		return nil, nil
	})
	first := make(chan int, 1)
	go func() {
		response, err := http.Post(url+"/v1/ai/speech/kanna?text=Hello", "application/octet-stream",
			strings.NewReader("a recording"))
		if err != nil {
			first <- 0
			return
		}
		response.Body.Close()
		first <- response.StatusCode
	}()
	<-begun
	response, body := post(t, url)
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode, body)
	require.Equal(t, "5", response.Header.Get("Retry-After"))
	require.Contains(t, body, "Another recording of this address is being aligned")
	close(end)
	require.Equal(t, 200, <-first)

	// and afterwards the address has a place again
	go func() { <-begun }()
	response, body = post(t, url)
	require.Equal(t, 200, response.StatusCode, body)
}

func TestTheServiceHasSoManyAtOnce(t *testing.T) {
	never := func(context.Context) ([]alignment.Word, error) { panic("nothing is aligned") }
	response, body := post(t, serve(t, quota.New(0, 1), never))
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode, body)
	require.Equal(t, "5", response.Header.Get("Retry-After"))
}

// linguist records the language of its last call.
type linguist struct{ language string }

func (l *linguist) Align(_ context.Context, _ audio.Upload, _, language string) ([]alignment.Word, error) {
	l.language = language
	return []alignment.Word{{Text: "Hallo", Phonemes: []alignment.Phoneme{{Name: "h"}}}}, nil
}

func TestTheLanguageOfTheTextIsToldOrDetected(t *testing.T) {
	var l linguist
	url := webtest.Serve(t, web.Config{Routes: (&API{Aligner: &l, Places: quota.New(1, 1)}).Routes()})
	send := func(query string) (*http.Response, string) {
		return webtest.Send(t, http.MethodPost, url+"/v1/ai/speech/kanna?text=Hallo"+query, "RIFF",
			"Content-Type", "audio/wav")
	}
	for query, want := range map[string]string{"": "auto", "&language=de-DE": "de", "&language=en": "en-us"} {
		response, _ := send(query)
		require.Equal(t, 200, response.StatusCode)
		require.Equal(t, want, l.language)
	}
	response, body := send("&language=tlh")
	require.Equal(t, 422, response.StatusCode)
	require.Contains(t, body, `"query","language"`)
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		err     error
		status  int
		message string
	}{
		{&audio.UnusableError{Fault: audio.TooLong, Message: "The audio is longer than 10m0s"}, 422,
			`"loc":["body"],"msg":"Value error, The audio is longer than 10m0s"`},
		{alignment.ErrNoSpeech, 422, `"loc":["body"],"msg":"Value error, The recording holds no speech"`},
		{&alignment.OtherTextError{Fit: alignment.Fit{Speech: 12, Text: 4}}, 422, `not of this text: 12.0 s of speech`},
		{alignment.ErrNoWords, 422, `"loc":["query","text"]`},
		{alignment.ErrTooMuchText, 422, `"loc":["query","text"]`},
		{domain.Refuse(domain.Unavailable, "The decoder of uploads is not available"), 503,
			"The decoder of uploads is not available"},
		{errors.New("a secret"), 500, "Internal Server Error"},
	} {
		url := serve(t, quota.New(1, 1), func(context.Context) ([]alignment.Word, error) { return nil, c.err })
		response, body := post(t, url)
		require.Equal(t, c.status, response.StatusCode, body)
		require.Contains(t, body, c.message)
	}
}
