package ssml

import (
	"strconv"
	"strings"
	"time"
)

// builder makes an element of its attributes. The names of these are separated by spaces.
type builder struct {
	attributes string
	apply      func(p *parser, e *element, attributes map[string]string) error
}

func builders() map[string]builder {
	return map[string]builder{
		root:       {" version xml:lang ", speak},
		"break":    {" time strength ", pauseHere},
		"emphasis": {" level ", emphasise},
		"lang":     {" xml:lang ", inLanguage},
		"p":        {" xml:lang ", unit(ParagraphEnd)},
		"s":        {" xml:lang ", unit(SentenceEnd)},
		"phoneme":  {" alphabet ph ", phonemes},
		"prosody":  {" rate pitch volume ", changeProsody},
		"say-as":   {" interpret-as format ", sayAs},
		"sub":      {" alias ", substitute},
		"voice":    {" name ", withVoice},
	}
}

func speak(p *parser, e *element, a map[string]string) error {
	if version, has := a["version"]; has && version != "1.0" && version != "1.1" {
		return p.fail("the version of <" + root + "> is 1.0 or 1.1")
	}
	return setLanguage(p, e, a)
}

func setLanguage(p *parser, e *element, a map[string]string) error {
	code, has := a["xml:lang"]
	if !has {
		return nil
	}
	engine, known := p.languages(code)
	if !known {
		return p.fail("the engine does not speak the language of <" + e.name + ">")
	}
	e.run.Style.Language = engine
	return nil
}

func inLanguage(p *parser, e *element, a map[string]string) error {
	if _, has := a["xml:lang"]; !has {
		return p.fail("<lang> needs xml:lang")
	}
	return setLanguage(p, e, a)
}

// maxVoice is the length of the longest name of a voice in characters.
const maxVoice = 64

func withVoice(p *parser, e *element, a map[string]string) error {
	name := strings.TrimSpace(a["name"])
	if name == "" || len([]rune(name)) > maxVoice {
		return p.fail("<voice> needs a name of 1 to 64 characters, the id of a voice")
	}
	e.run.Style.Voice = name
	for _, known := range p.out.Voices {
		if known.Name == name {
			return nil
		}
	}
	if len(p.out.Voices) == MaxVoices {
		return p.fail("the document has more than 16 voices")
	}
	p.out.Voices = append(p.out.Voices, VoiceUse{name, *newError(p.text, p.at, "")})
	return nil
}

func unit(ends Boundary) func(*parser, *element, map[string]string) error {
	return func(p *parser, e *element, a map[string]string) error {
		p.bound(ends)
		e.ends = ends
		return setLanguage(p, e, a)
	}
}

func pauseHere(p *parser, e *element, a map[string]string) error {
	e.whole = true
	if written, has := a["time"]; has {
		n, ok := parseQuantity(written, "ms")
		if !ok {
			n, ok = parseQuantity(written, "s")
			n *= 1000
		}
		if !ok || n < 0 || n > float64(MaxPause.Milliseconds()) {
			return p.fail("the time of <break> is a number of s or ms, up to 10 seconds")
		}
		return p.pause(time.Duration(n * float64(time.Millisecond)))
	}
	length, known := map[string]time.Duration{
		"none": 0, "x-weak": 100, "weak": 200, "medium": 400, "": 400, "strong": 700, "x-strong": 1000,
	}[a["strength"]]
	if !known {
		return p.fail("the strength of <break> is none, x-weak, weak, medium, strong or x-strong")
	}
	return p.pause(length * time.Millisecond)
}

// parseQuantity parses a decimal number with a unit.
func parseQuantity(written, unit string) (float64, bool) {
	digits, ok := strings.CutSuffix(written, unit)
	if !ok || strings.Trim(digits, "+-.0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(digits, 64)
	return n, err == nil
}

func substitute(p *parser, e *element, a map[string]string) error {
	alias := strings.Join(strings.Fields(a["alias"]), " ")
	if alias == "" || len([]rune(alias)) > MaxSpoken {
		return p.fail("<sub> needs an alias of 1 to 400 characters")
	}
	e.whole, e.run.Alias, e.run.element = true, alias, p.number
	return nil
}

func phonemes(p *parser, e *element, a map[string]string) error {
	if alphabet := a["alphabet"]; alphabet != "ipa" && alphabet != "" {
		return p.fail("the alphabet of <phoneme> is ipa")
	}
	written := a["ph"]
	if strings.TrimSpace(written) == "" || len([]rune(written)) > MaxSpoken {
		return p.fail("<phoneme> needs a ph of 1 to 400 characters")
	}
	e.whole, e.run.IPA, e.run.element = true, written, p.number
	e.run.phonemesAt, e.run.phonemesStep = p.attributePlace("ph", written)
	return nil
}

func sayAs(p *parser, e *element, a map[string]string) error {
	class, known := classOf(a["interpret-as"])
	if !known {
		return p.fail("the interpret-as of <say-as> is cardinal, ordinal, characters, digits, date, time, telephone, " +
			"currency or unit")
	}
	format := a["format"]
	if class == Date && strings.Trim(format, "dmy") != "" || class == Time && format != "" && format != "hms12" &&
		format != "hms24" {
		return p.fail("the format of <say-as> is an order of d, m and y for a date, hms12 or hms24 for a time")
	}
	e.whole, e.run.Class, e.run.Format, e.run.element = true, class, format, p.number
	return nil
}

func classOf(name string) (Class, bool) {
	switch name {
	case "number":
		return Cardinal, true
	case "spell-out", "verbatim":
		return Characters, true
	}
	switch c := Class(name); c {
	case Cardinal, Ordinal, Characters, Digits, Date, Time, Telephone, Currency, Unit:
		return c, true
	}
	return "", false
}

// emphases are the changes of style by the levels of emphasis.
func emphases() map[string]Style {
	moderate := Style{Rate: 0.95, Pitch: 1, Volume: 2, Range: 1.2}
	return map[string]Style{
		"none": ownStyle(), "moderate": moderate, "": moderate, "strong": {Rate: 0.9, Pitch: 2, Volume: 3, Range: 1.4},
		"reduced": {Rate: 1.05, Pitch: -1, Volume: -3, Range: 0.8},
	}
}

func emphasise(p *parser, e *element, a map[string]string) error {
	by, known := emphases()[a["level"]]
	if !known {
		return p.fail("the level of <emphasis> is strong, moderate, none or reduced")
	}
	s := &e.run.Style
	s.Rate = min(max(s.Rate*by.Rate, minRate), maxRate)
	s.Pitch = min(max(s.Pitch+by.Pitch, -maxPitch), maxPitch)
	s.Volume = min(max(s.Volume+by.Volume, -maxVolume), maxVolume)
	s.Range *= by.Range
	return nil
}
