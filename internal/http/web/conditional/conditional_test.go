package conditional_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/http/web/conditional"
)

func TestIfNoneMatch(t *testing.T) {
	for _, c := range []struct {
		header, tag string
		matches     bool
	}{
		{``, `"a"`, false},
		{`*`, `"a"`, true},
		{" *\t", `W/"a"`, true},
		{`"*"`, `"a"`, false},
		{`"a"`, `"a"`, true},
		{`"a"`, `"b"`, false},
		{`"A"`, `"a"`, false},
		{`W/"a"`, `"a"`, true},
		{`"a"`, `W/"a"`, true},
		{`W/"a"`, `W/"a"`, true},
		{`w/"a"`, `"a"`, false},
		{`"x", "a"`, `"a"`, true},
		{`"x","y" ,W/"a"`, `"a"`, true},
		{`, ,"x",, "a",`, `"a"`, true},
		{`"x, "a""`, `"a"`, false},
		{`"x,y", "a"`, `"a"`, true},
		{`"x,\"a\""`, `"a"`, false},
		{`"x" junk, "a"`, `"a"`, false},
		{`"x y", "a"`, `"a"`, false},
		{`a`, `"a"`, false},
		{`"a`, `"a"`, false},
		{`"xa"`, `"a"`, false},
		{`""`, `""`, true},
		{`*, "x"`, `"a"`, false},
	} {
		require.Equal(t, c.matches, conditional.Headers{IfNoneMatch: c.header}.Matches(c.tag), "%s against %s", c.header,
			c.tag)
	}
}

func TestRanges(t *testing.T) {
	const whole, none = "", "none"
	for _, c := range []struct {
		header, ifRange, tag string
		want                 string // the Content-Range of 206
	}{
		{header: "", want: whole},
		{header: "bytes=0-0", want: "bytes 0-0/10"},
		{header: "bytes=2-4", want: "bytes 2-4/10"},
		{header: "bytes=2-", want: "bytes 2-9/10"},
		{header: "bytes=2-99", want: "bytes 2-9/10"},
		{header: "bytes=2-99999999999999999999", want: "bytes 2-9/10"},
		{header: "bytes=-3", want: "bytes 7-9/10"},
		{header: "bytes=-99", want: "bytes 0-9/10"},
		{header: "bytes=-0", want: none},
		{header: "bytes=10-", want: none},
		{header: "bytes=99999999999999999999-", want: none},
		{header: "BYTES = 2-4 ", want: "bytes 2-4/10"},
		{header: "bytes=,2-4, ,", want: "bytes 2-4/10"},
		{header: "bytes=0-1,4-5", want: whole},
		{header: "bytes=0-1, -1", want: whole},
		{header: "bytes=4-2", want: whole},
		{header: "bytes=-", want: whole},
		{header: "bytes=2", want: whole},
		{header: "bytes=1 - 2", want: whole},
		{header: "bytes=+1-2", want: whole},
		{header: "bytes=", want: whole},
		{header: "bytes", want: whole},
		{header: "seconds=0-1", want: whole},
		{header: "bytes=2-4", ifRange: `"a"`, tag: `"a"`, want: "bytes 2-4/10"},
		{header: "bytes=2-4", ifRange: `"b"`, tag: `"a"`, want: whole},
		{header: "bytes=20-", ifRange: `"b"`, tag: `"a"`, want: whole},
		{header: "bytes=2-4", ifRange: `W/"a"`, tag: `W/"a"`, want: whole},
		{header: "bytes=2-4", ifRange: `W/"a"`, tag: `"a"`, want: whole},
		{header: "bytes=2-4", ifRange: `Sat, 29 Oct 1994 19:43:31 GMT`, tag: `"a"`, want: whole},
	} {
		part, partial, err := conditional.Headers{Range: c.header, IfRange: c.ifRange}.Part(c.tag, 10)
		switch c.want {
		case none:
			require.ErrorIs(t, err, conditional.ErrUnsatisfiable, c.header)
		case whole:
			require.NoError(t, err, c.header)
			require.False(t, partial, c.header)
			require.Equal(t, conditional.Part{Length: 10}, part, c.header)
		default:
			require.NoError(t, err, c.header)
			require.True(t, partial, c.header)
			require.Equal(t, c.want, part.ContentRange(10), c.header)
		}
	}
	part, partial, err := conditional.Headers{Range: "bytes=0-1"}.Part(`"a"`, 0)
	require.NoError(t, err, "an empty content has no ranges")
	require.False(t, partial)
	require.Zero(t, part)
	require.Equal(t, "bytes */10", conditional.Unsatisfied(10))
}

// A single range is parsed like net/http parses it.
func TestRangesAreThoseOfTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, 40).Draw(rt, "size")
		number := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[0-9]{1,2}`), rapid.Just("99999999999999999999"))
		header := "bytes=" + number.Draw(rt, "first") + "-" + number.Draw(rt, "last")

		part, partial, err := conditional.Headers{Range: header}.Part(`"a"`, int64(size))
		recorder := serveContent(http.Header{"Range": {header}}, size)
		if strings.Contains(header, "99999999999999999999") || strings.Trim(header, "bytes=0") == "-" || err == nil &&
			!partial {
			// unlike net/http, invalid ranges are ignored, and the last 0 bytes are not satisfiable, as in RFC 9110
			return
		}
		if err != nil {
			require.Equal(rt, http.StatusRequestedRangeNotSatisfiable, recorder.Code, header)
			return
		}
		require.Equal(rt, http.StatusPartialContent, recorder.Code, header)
		require.Equal(rt, part.ContentRange(int64(size)), recorder.Header().Get("Content-Range"), header)
	})
}

// Lists of entity tags are parsed like net/http parses them.
func TestTagsAreThoseOfTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		piece := rapid.SampledFrom([]string{`"a"`, `W/"a"`, `"b"`, `W/"b,c"`, `"b, c"`, `,`, `, `, ` `, `*`, `"`, `a`, `""`})
		header := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(rt, "pieces"), "")
		if strings.Contains(header, "*") && strings.TrimSpace(header) != "*" {
			return // net/http accepts a star anywhere in the list
		}
		tag := rapid.SampledFrom([]string{`"a"`, `W/"a"`, `"b, c"`}).Draw(rt, "tag")
		recorder := serveContent(http.Header{"If-None-Match": {header}, "Etag": {tag}}, 1)
		require.Equal(rt, recorder.Code == http.StatusNotModified, conditional.Headers{IfNoneMatch: header}.Matches(tag),
			"%s against %s", header, tag)
	})
}

func serveContent(header http.Header, size int) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	recorder.Header()["Etag"] = header["Etag"]
	header.Del("Etag")
	request.Header = header
	http.ServeContent(recorder, request, "x.mp3", time.Time{}, strings.NewReader(strings.Repeat("x", size)))
	return recorder
}

func FuzzHeaders(f *testing.F) {
	for _, header := range []string{
		"", "bytes=0-1", "bytes=-1", "bytes=1-", "bytes=-", "BYTES = 1 - 2", "bytes=0-1,2-3", "bytes=99999999999999999999-",
	} {
		f.Add(header, `"a"`, `W/"a", "b"`, int64(10))
	}
	f.Fuzz(func(t *testing.T, ranges, ifRange, ifNoneMatch string, size int64) {
		if size < 0 {
			return
		}
		h := conditional.Headers{Range: ranges, IfRange: ifRange, IfNoneMatch: ifNoneMatch}
		if h.Matches(`"tag"`) {
			require.True(t, strings.Contains(ifNoneMatch, `"tag"`) || strings.Trim(ifNoneMatch, " \t") == "*", ifNoneMatch)
		}
		part, partial, err := h.Part(`"tag"`, size)
		switch {
		case err != nil:
			require.ErrorIs(t, err, conditional.ErrUnsatisfiable)
			require.False(t, partial)
		case !partial:
			require.Equal(t, conditional.Part{Length: size}, part)
		default:
			require.GreaterOrEqual(t, part.Offset, int64(0))
			require.Positive(t, part.Length)
			require.LessOrEqual(t, part.Length, size-part.Offset)
		}
	})
}
