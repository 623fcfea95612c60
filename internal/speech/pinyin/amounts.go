package pinyin

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/speech/frontend"
)

// form is a written form of an amount, and its spoken form in Chinese letters, in which $1 is the first group as a
// number, #1 digit by digit, and @1 as it is written.
type form struct {
	kind    frontend.Kind
	pattern *regexp.Regexp
	said    string
	unless  string // texts that do not come before it, divided by strokes
}

const (
	amount = `(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)`
	until  = `\s?[-–—~～〜至到]\s?`
	scale  = `([万亿]?)`
	unit   = `(?:\s?(km²|km/h|m²|m³|km|kg|cm|mm|mg|ml|mL|℃|°C|°|m|g|[Ll]))`
)

// forms are tried in order.
var forms = []form{
	on(frontend.Date, `(\d{4})[-/.]0?([1-9]|1[0-2])[-/.]0?([1-9]|[12]\d|3[01])`, "#1年$2月$3日"),
	on(frontend.Range, `(\d{4})[-–—~～至到](\d{4})年`, "#1到#2"),
	on(frontend.Range, `(\d{4})[-–—~～至到](\d{4})(赛季|学年|财年)`, "#1到#2@3"),
	on(frontend.Number, `(\d{3,4})(室|次列车|次航班)`, "#1@2"),
	on(frontend.Range, `(\d{2,3})/(\d{2,3})\s?mmHg`, "$1，$2毫米汞柱"),
	on(frontend.Number, `(\d{1,4})[xX](\d{1,4})`, "$1乘$2"),
	on(frontend.Date, `(\d{4})年`, "#1"),
	on(frontend.Phone, `\+(\d{1,3})[ -](\d{2,4}[ -]?\d{3,4}[ -]?\d{4})`, "加#1，#2"),
	on(frontend.Phone, `(1[3-9]\d{9}|1[3-9]\d[ -]\d{4}[ -]\d{4}|0\d{2,3}-\d{7,8}|[48]00-(?:\d{3}-\d{4}|\d{4}-\d{3}))`,
		"#1"),
	{frontend.Time, regexp.MustCompile(`^([01]?\d|2[0-4]):([0-5]\d)(?:` + until + `([01]?\d|2[0-4]):([0-5]\d))?`), "",
		"比分|比例|比|:"},
	on(frontend.Range, `(\d+)[:：](\d+)`, "$1比$2"),
	{frontend.Fraction, regexp.MustCompile(`^(\d{1,3})/(\d{1,3})`), "$2分之$1", "血压|血压："},
	on(frontend.Range, `(\d{2,3})/(\d{2,3})`, "$1，$2"),
	on(frontend.Money, `[¥￥]\s?`+amount+scale+`元?`, "$1@2元"),
	on(frontend.Money, `(?:US)?\$\s?`+amount+scale, "$1@2美元"),
	on(frontend.Money, `€\s?`+amount+scale, "$1@2欧元"),
	on(frontend.Money, `£\s?`+amount+scale, "$1@2英镑"),
	on(frontend.Money, amount+scale+`\s?(?:RMB|CNY)`, "$1@2人民币"),
	on(frontend.Range, amount+`[%％]?`+until+amount+`[%％]`, "百分之$1到百分之$2"),
	on(frontend.Unit, `[-−]`+amount+`\s?(?:℃|°C)`, "零下$1摄氏度"),
	on(frontend.Unit, `[-−]`+amount+`[%％]`, "负百分之$1"),
	on(frontend.Unit, amount+`[%％]`, "百分之$1"),
	on(frontend.Unit, amount+`‰`, "千分之$1"),
	on(frontend.Number, amount+`\s?[-−]\s?`+amount+`\s?([=＝])`, "$1减$2@3"),
	on(frontend.Range, amount+unit+`?`+until+amount+unit, "$1@2到$3@4"),
	on(frontend.Range, amount+until+amount, "$1到$2"),
	on(frontend.Range, `-(\d{1,2})([日号])`, "到$1@2"),
	on(frontend.Number, `[-−]`+amount, "负$1"),
	on(frontend.Version, `[vV](\d+)\.(\d+)(?:\.(\d+))?`, "$1点$2点$3"),
	on(frontend.Version, `(\d+)\.(\d+)\.(\d+)\.(\d+)`, "$1点$2点$3点$4"),
	on(frontend.Version, `(\d+)\.(\d+)\.(\d+)`, "$1点$2点$3"),
	on(frontend.Unit, amount+unit, "$1@2"),
	on(frontend.Number, amount, "$1"),
	on(frontend.Symbol, `([+×÷=＋＝])\s?`, "@1"),
}

// listed matches a number before another one in a list, which is no telephone number. Without it, each would be tried
// as all forms.
var listed = regexp.MustCompile(`^(\d{1,2}|[02-9]\d\d|\d{4,9}) \d`)

func on(kind frontend.Kind, pattern, said string) form {
	return form{kind: kind, pattern: regexp.MustCompile("^(?:" + pattern + ")"), said: said}
}

// names has the spoken forms of units and symbols.
var names = map[string]string{
	"km²": "平方公里", "km/h": "公里每小时", "m²": "平方米", "m³": "立方米", "km": "公里", "kg": "公斤", "cm": "厘米", "mm": "毫米",
	"mg": "毫克", "ml": "毫升", "mL": "毫升", "℃": "摄氏度", "°C": "摄氏度", "°": "度", "m": "米", "g": "克", "L": "升", "l": "升",
	"+": "加", "＋": "加", "×": "乘", "÷": "除以", "=": "等于", "＝": "等于",
}

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
