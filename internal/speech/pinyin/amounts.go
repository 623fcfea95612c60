package pinyin

import (
	"cmp"
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/speech/frontend"
)

// table has a line for each written form of an amount, in the order in which they are tried: its kind, its pattern, its
// spoken form, and the texts that do not come before it, divided by strokes. In the spoken form, which is in Chinese
// letters, $1 is the first group as a number, #1 digit by digit, and @1 as it is written or by its name. Before these
// are the parts of patterns, which stand in braces there, and the names of units and symbols.
//
//go:embed amounts.tsv
var table string

// form is a written form of an amount.
type form struct {
	kind    frontend.Kind
	pattern *regexp.Regexp
	said    string
	unless  string
}

// forms and names are parsed from the table.
var forms, names = parseTable()

func parseTable() (forms []form, names map[string]string) {
	names = map[string]string{}
	var parts []string
	for line := range strings.Lines(table) {
		row := append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), "")
		switch row[0] {
		case "part":
			parts = append(parts, "{"+row[1]+"}", row[2])
		case "name":
			names[row[1]] = row[2]
		default:
			pattern := regexp.MustCompile("^(?:" + strings.NewReplacer(parts...).Replace(row[1]) + ")")
			forms = append(forms, form{frontend.Kind(row[0]), pattern, row[2], row[3]})
		}
	}
	return forms, names
}

// listed matches a number before another one in a list, which is no telephone number. Without it, each would be tried
// as all forms.
var listed = regexp.MustCompile(`^(\d{1,2}|[02-9]\d\d|\d{4,9}) \d`)

// Amount is a number, a date, a time, a unit or a sign in a text.
type Amount struct {
	Size     int // in bytes
	Kind     frontend.Kind
	Syllable string // all of them, with spaces before each
}

// maxAmount is the number of bytes that an amount may have.
const maxAmount = 60

// AmountAt returns the amount that begins at a place in a Chinese text. It reports false if there is none.
func AmountAt(text string, at int) (Amount, bool) {
	before, part := text[:at], text[at:min(len(text), at+maxAmount)]
	if !begins(before, part) {
		return Amount{}, false
	}
	if groups := listed.FindStringSubmatch(part); groups != nil {
		size := len(groups[1])
		m := match{form{kind: frontend.Number, said: "$1"}, groups, before, part[size:]}
		return Amount{size, m.kind, m.syllables()}, true
	}
	for _, f := range forms {
		groups := f.pattern.FindStringSubmatch(part)
		if groups == nil {
			continue
		}
		size := len(strings.TrimSuffix(groups[0], "年")) // a word of its own
		m := match{form: f, groups: groups, before: before, after: part[size:]}
		if m.applies() {
			return Amount{size, f.kind, m.syllables()}, true
		}
	}
	return Amount{}, false
}

// begins reports whether an amount may begin between two texts.
func begins(before, after string) bool {
	first, last := firstOf(after), lastOf(before)
	if isDigit(first) {
		return !isDigit(last)
	}
	return strings.ContainsRune("$+-=vVU¥￥€£−×÷＋＝", first) && !isLatin(last)
}

func isLatin(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func firstOf(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

func lastOf(text string) rune {
	r, _ := utf8.DecodeLastRuneInString(text)
	return r
}

// match is a form in a text.
type match struct {
	form
	groups        []string
	before, after string
}

// applies reports whether the form is one where it is.
func (m match) applies() bool {
	if m.kind == frontend.Symbol && !(isDigit(lastOf(strings.TrimRight(m.before, " "))) && isDigit(firstOf(m.after))) {
		return false
	}
	return !endsWith(m.before, m.unless) && !(isLatin(lastOf(m.groups[0])) && isLatin(firstOf(m.after)))
}

// endsWith reports whether a text ends with one of several, which strokes divide.
func endsWith(text, ends string) bool {
	text = strings.TrimRight(text, " ")
	return ends != "" && slices.ContainsFunc(strings.Split(ends, "|"), func(end string) bool {
		return strings.HasSuffix(text, end)
	})
}

// dialled has the words after which a number is read digit by digit.
const dialled = "拨打|电话|热线|手机|号码|电话：|手机：|热线：|电话:|手机:|邮编|邮编：|密码|密码："

// say returns the amount in Chinese letters.
func (m match) say() string {
	if m.kind == frontend.Time {
		said := clock(m.groups[1], m.groups[2])
		if m.groups[3] != "" {
			said += "到" + clock(m.groups[3], m.groups[4])
		}
		return said
	}
	said := verb.ReplaceAllStringFunc(m.said, func(verb string) string {
		return m.group(verb[0], m.groups[verb[1]-'0'])
	})
	said = strings.TrimSuffix(said, "点")
	if one, ok := strings.CutSuffix(said, "二"); ok && m.groups[len(m.groups)-1] == "2" && m.isCount() {
		return one + "两"
	}
	return said
}

var verb = regexp.MustCompile(`[$#@]\d`)

// group returns the spoken form of a group by its verb.
func (m match) group(verb byte, written string) string {
	switch {
	case verb == '@':
		return cmp.Or(names[written], written)
	case verb == '#' || m.kind == frontend.Number && endsWith(m.before, dialled):
		isYear := m.kind == frontend.Date || m.kind == frontend.Range
		return strings.Join(strings.Split(digits(written, !isYear), ""), border)
	default:
		return number(written)
	}
}

// border keeps the tones of single digits.
const border = "\u200b"

// measures are words before which two is 两.
const measures = "个個只隻本天次位名条條张張件块塊家种種杯瓶层層岁歲年倍辆輛台臺把座头頭匹双雙对對支枝架棵" +
	"篇封间間所口米公点點小万萬亿億千"

// isCount reports whether a measure follows, and it is no ordinal number.
func (m match) isCount() bool {
	follows := strings.ContainsRune(measures, firstOf(m.after)) || strings.HasPrefix(m.after, "分钟")
	return follows && !strings.HasSuffix(m.before, "第")
}

// syllables returns the amount in Pinyin. The text after it may change the tone of its last syllable.
func (m match) syllables() string {
	said, next := m.say(), firstOf(m.after)
	if strings.HasSuffix(said, "一") && said != "一" {
		next = 0 // it keeps its tone
	}
	letters := []rune(said + string(next))
	var out strings.Builder
	for i, syllable := range Spell(letters)[:len(letters)-1] {
		switch {
		case syllable != "":
			out.WriteString(" " + syllable)
		case string(letters[i]) != border:
			out.WriteRune(letters[i])
		}
	}
	if m.kind == frontend.Time {
		return out.String()
	}
	return strings.Replace(out.String(), " yi4 dian", " yi1 dian", 1) // of decimals
}

func clock(hour, minute string) string {
	hour = strings.TrimPrefix(hour, "0")
	said := cmp.Or(map[string]string{"": "零", "2": "两"}[hour], number(hour)) + "点"
	switch {
	case minute == "00":
		return said
	case minute[0] == '0':
		return said + "零" + number(minute[1:]) + "分"
	default:
		return said + number(minute) + "分"
	}
}

// digits returns the names of digits. In telephone numbers, one is 幺.
func digits(written string, isDialled bool) string {
	return strings.Map(func(r rune) rune {
		switch {
		case !isDigit(r):
			return '，'
		case r == '1' && isDialled:
			return '幺'
		}
		return []rune("零一二三四五六七八九")[r-'0']
	}, written)
}

// maxDigits is the maximum number of digits of a number that is not read digit by digit.
const maxDigits = 16

// number spells a number, which may have separators of thousands and decimals.
func number(written string) string {
	whole, decimals, hasDecimals := strings.Cut(strings.ReplaceAll(written, ",", ""), ".")
	said := digits(whole, false)
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil && len(whole) <= maxDigits && (n == 0 || whole[0] != '0') {
		said = cardinal(n)
		if strings.HasPrefix(said, "一十") {
			said = strings.TrimPrefix(said, "一")
		}
	}
	if hasDecimals {
		said += "点" + digits(decimals, false)
	}
	return said
}

// cardinal spells a number by its powers of ten, with a zero for omitted powers.
func cardinal(n int64) string {
	for _, power := range []struct {
		value int64
		name  string
	}{{1e12, "万亿"}, {1e8, "亿"}, {1e4, "万"}, {1000, "千"}, {100, "百"}, {10, "十"}} {
		if n < power.value {
			continue
		}
		said := cardinal(n/power.value) + power.name
		if n/power.value == 2 && power.value >= 1000 {
			said = "两" + power.name
		}
		rest := n % power.value
		if rest == 0 {
			return said
		}
		if rest < power.value/10 {
			said += "零"
		}
		return said + cardinal(rest)
	}
	return digits(strconv.FormatInt(n, 10), false)
}
