package ssml_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech/ipa"
	"github.com/recital-tts/recital/internal/speech/ssml"
)

func languages(code string) (string, bool) {
	engine, known := map[string]string{"en-GB": "en-gb", "de": "de", "fr": "fr-fr"}[code]
	return engine, known
}

// testdata/documents.tsv has the cases: a description, the document, and its runs or the error. In documents, \n is a
// new line.
func TestDocumentsAreParsed(t *testing.T) {
	for _, fields := range documents(t) {
		document, err := ssml.Parse(fields[1], languages)
		got := describe(document)
		if err != nil {
			got = err.Error()
		}
		assert.Equal(t, fields[2], got, fields[0])
	}
}

// A sound that the language lacks is named with its place in the document.
func TestPhonemesOfALanguageAreChecked(t *testing.T) {
	const noSound = "the ph of <phoneme>: ø is not a sound of the language"
	for text, want := range map[string]string{
		`<speak>One<phoneme alphabet="ipa" ph="tiː">tee</phoneme></speak>`:              "",
		"<speak>\n <phoneme alphabet='ipa' ph='tøː'>tee</phoneme></speak>":              "line 2, column 31: " + noSound,
		`<speak xml:lang="de"><phoneme ph="tøː">tee</phoneme></speak>`:                  "",
		`<speak><lang xml:lang="de"><phoneme ph="&#x74;θ">tee</phoneme></lang></speak>`: "",
		`<speak><phoneme ph="&#x74;ø">tee</phoneme></speak>`:                            "line 1, column 8: " + noSound,
	} {
		document, err := ssml.Parse(text, languages)
		require.NoError(t, err)
		got := ""
		if err := document.CheckPhonemes("en-gb", ipa.Check); err != nil {
			got = err.Error()
		}
		assert.Equal(t, want, got, text)
	}
	document, err := ssml.Parse(`<speak><phoneme ph="ə">a</phoneme> <phoneme ph="ˈdʌbəljuː">W</phoneme></speak>`,
		languages)
	require.NoError(t, err)
	require.Equal(t, 1+1+1+5, document.Characters())
}

func documents(t testing.TB) (cases [][]string) {
	content, err := os.ReadFile("testdata/documents.tsv")
	require.NoError(t, err)
	for line := range strings.Lines(string(content)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, fields, 3, line)
		fields[1] = strings.ReplaceAll(fields[1], `\n`, "\n")
		cases = append(cases, fields)
	}
	return cases
}

// describe returns the runs of a document: their texts, their properties in brackets, and the boundary or pause after
// them in braces.
func describe(d ssml.Document) string {
	var out strings.Builder
	for _, r := range d.Runs {
		out.WriteString(r.Text)
		said := strings.TrimSpace(fmt.Sprintf("%s%s %s", r.Alias, r.Class, r.Format))
		if r.IPA != "" {
			said += "/" + r.IPA + "/"
		}
		if said += describeStyle(r.Style); said != "" {
			out.WriteString("[" + strings.TrimSpace(said) + "]")
		}
		if r.HasPause {
			out.WriteString("{" + r.Pause.String() + "}")
		}
		out.WriteString([]string{"", "{sentence}", "{paragraph}"}[r.Ends])
	}
	return out.String()
}

func describeStyle(s ssml.Style) string {
	said := s.Language
	if s.Voice != "" {
		said += " voice " + s.Voice
	}
	if s.Rate != 1 {
		said += fmt.Sprintf(" rate %.3g", s.Rate)
	}
	if s.Pitch != 0 {
		said += fmt.Sprintf(" pitch %.3g", s.Pitch)
	}
	if s.Volume != 0 {
		said += fmt.Sprintf(" volume %.3g", s.Volume)
	}
	if s.Range != 1 {
		said += fmt.Sprintf(" range %.3g", s.Range)
	}
	return said
}

func TestOnlyTheElementSpeakBeginsADocument(t *testing.T) {
	for text, want := range map[string]bool{
		"<speak>": true, " \n<speak version='1.0'>a": true, "<speak/>": true, "<speak": true,
		"<?xml version=\"1.0\"?>\n<speak>a": true, " <?xml version='1.0' encoding='UTF-8'?><speak>a": true,
		"<?xml version=\"1.0\"?><html>": false, "<?php ?><speak>": false, "<?xml version=\"1.0\"": false,
		"<speaker> a": false, "<speak-up>": false, "Say <speak>": false, "": false, "< speak>": false, "<Speak>": false,
	} {
		assert.Equal(t, want, ssml.Is(text), text)
	}
}

// The text of a document is everything outside its markup.
func TestTheTextIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		markup, text := drawContent(t, 0)
		document, err := ssml.Parse("<speak>"+markup+"end</speak>", languages)
		require.NoError(t, err, markup)
		require.Equal(t, text+"end", document.Text)
		requireRuns(t, document)
	})
}

func drawContent(t *rapid.T, depth int) (markup, text string) {
	for range rapid.IntRange(0, 4).Draw(t, "parts") {
		tag := rapid.SampledFrom([]string{
			"", `<break time="10ms"/>`, "<s>", "<p>", `<emphasis level="reduced">`, `<prosody rate="90%">`,
			`<lang xml:lang="de">`,
			`<sub alias="other">`, `<say-as interpret-as="digits">`, "<!-- a -->",
		}).Draw(t, "tag")
		inner, innerText := "word", "word"
		name, _, _ := strings.Cut(strings.Trim(tag, "<>"), " ")
		switch {
		case tag == "":
			innerText = strings.TrimSpace(rapid.StringOf(rapid.RuneFrom([]rune("aé東 &<>\n\"5"))).Draw(t, "text"))
			inner = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(innerText)
		case name == "break" || name == "!--":
			markup += tag
			continue
		case name != "sub" && name != "say-as" && depth < 5:
			inner, innerText = drawContent(t, depth+1)
		}
		markup, text = markup+tag+inner, text+innerText
		if tag != "" {
			markup += "</" + name + ">"
		}
	}
	return markup, text
}

func requireRuns(t require.TestingT, d ssml.Document) {
	var text strings.Builder
	for i, r := range d.Runs {
		require.True(t, r.Text != "" || i == 0 && r.HasPause)
		require.True(t, r.Style.Rate >= 0.25 && r.Style.Rate <= 2)
		require.True(t, r.Style.Pitch >= -12 && r.Style.Pitch <= 12 && r.Style.Volume >= -12 && r.Style.Volume <= 12)
		text.WriteString(r.Text)
	}
	require.Equal(t, d.Text, text.String())
	require.LessOrEqual(t, d.Pauses(), ssml.MaxPauses)
	require.LessOrEqual(t, len(d.Runs), ssml.MaxRuns)
}

// Any text is a document within the limits, or has an error at a place in it.
func FuzzParse(f *testing.F) {
	for _, fields := range documents(f) {
		f.Add(fields[1])
	}
	f.Fuzz(func(t *testing.T, text string) {
		document, err := ssml.Parse(text, languages)
		if err == nil {
			requireRuns(t, document)
			return
		}
		var at *ssml.Error
		require.ErrorAs(t, err, &at)
		lines := strings.Split(text, "\n")
		require.LessOrEqual(t, at.Line, len(lines))
		require.LessOrEqual(t, at.Column, utf8.RuneCountInString(lines[at.Line-1])+1)
		require.LessOrEqual(t, utf8.RuneCountInString(at.Problem), 400)
	})
}

// The time is linear: no text of the permitted length takes much longer than prose.
func TestHostileDocumentsEnd(t *testing.T) {
	fill := func(part string) string { return "<speak>" + strings.Repeat(part, 5000/len(part)) }
	for name, text := range map[string]string{
		"elements": fill("<p>"), "closed": fill("<p>a</p>"), "entities": fill("&amp;"),
		"attributes": "<speak " + fill("a='' "),
		"long name":  fill("a"), "comments": fill("<!-- -->"), "breaks": fill("<break/>"), "CDATA": fill("<![CDATA[]]>"),
		"declaration": "<speak><!DOCTYPE " + fill("<"), "quotes": "<speak a='" + fill("'"),
	} {
		begun := time.Now()
		_, err := ssml.Parse(text, languages)
		require.Error(t, err, name)
		require.Less(t, time.Since(begun), 10*time.Second, name)
	}
	_, err := ssml.Parse("<speak>"+strings.Repeat("<s>a</s>", ssml.MaxRuns)+"</speak>", languages)
	require.NoError(t, err)
	_, err = ssml.Parse("<speak>"+strings.Repeat("<s>a</s>", ssml.MaxRuns+1)+"</speak>", languages)
	require.EqualError(t, err, "line 1, column 2411: the document has more than 300 parts")
	_, err = ssml.Parse("<speak>"+strings.Repeat("a", 1<<20), languages)
	require.ErrorContains(t, err, "too long")
}

func TestTheLongerOneOfTextAndAliasCounts(t *testing.T) {
	document, err := ssml.Parse(`<speak>Hi <sub alias="wide world">W2</sub> <sub alias="a">abc</sub></speak>`, languages)
	require.NoError(t, err)
	require.Equal(t, len("Hi wide world abc"), document.Characters())
}
