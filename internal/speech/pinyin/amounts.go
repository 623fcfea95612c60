package pinyin

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/speech/frontend"
)

// form is a way to write an amount, and how it is said in Chinese letters. In what is said, $1 is the first group as a
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
	on(frontend.Range, `(\d{4})[-–—~～至到](\d{4})年`, "#1到#2年"),
	on(frontend.Date, `(\d{4})年`, "#1年"),
	on(frontend.Phone, `\+(\d{1,3})[ -](\d{2,4}[ -]?\d{3,4}[ -]?\d{4})`, "加#1，#2"),
	on(frontend.Phone, `(1[3-9]\d{9}|1[3-9]\d[ -]\d{4}[ -]\d{4}|0\d{2,3}-\d{7,8}|[48]00-\d{3}-\d{4}|[48]00-\d{4}-\d{3})`, "#1"),
	{frontend.Time, regexp.MustCompile(`^([01]?\d|2[0-4]):([0-5]\d)(?:` + until + `([01]?\d|2[0-4]):([0-5]\d))?`), "",
		"比分|比例|比|:"},
	on(frontend.Range, `(\d+)[:：](\d+)`, "$1比$2"),
	on(frontend.Fraction, `(\d{1,3})/(\d{1,3})`, "$2分之$1"),
	on(frontend.Money, `[¥￥]\s?`+amount+scale, "$1@2元"),
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
	on(frontend.Number, `[-−]`+amount, "负$1"),
	on(frontend.Version, `[vV](\d+)\.(\d+)(?:\.(\d+))?`, "$1点$2点$3"),
	on(frontend.Version, `(\d+)\.(\d+)\.(\d+)`, "$1点$2点$3"),
	on(frontend.Unit, amount+unit, "$1@2"),
	on(frontend.Number, amount, "$1"),
	on(frontend.Symbol, `([+×÷=＋＝])\s?`, "@1"),
}

func on(kind frontend.Kind, pattern, said string) form {
	return form{kind: kind, pattern: regexp.MustCompile("^(?:" + pattern + ")"), said: said}
}

// names are how units and symbols are said.
var names = map[string]string{
	"km²": "平方公里", "km/h": "公里每小时", "m²": "平方米", "m³": "立方米", "km": "公里", "kg": "公斤", "cm": "厘米", "mm": "毫米",
	"mg": "毫克", "ml": "毫升", "mL": "毫升", "℃": "摄氏度", "°C": "摄氏度", "°": "度", "m": "米", "g": "克", "L": "升", "l": "升",
	"+": "加", "＋": "加", "×": "乘", "÷": "除以", "=": "等于", "＝": "等于",
}

// Amount is a number or what goes with one, in a text.
type Amount struct {
	Size     int // in bytes
	Kind     frontend.Kind
	Syllable string // all of them, with spaces before each
}

// maxAmount is the number of bytes that an amount may have.
const maxAmount = 60

// AmountAt returns the amount that begins at a place in a Chinese text. It reports false if there is none.
func AmountAt(text string, at int) (Amount, bool) {
	first, _ := utf8.DecodeRuneInString(text[at:])
	if first > 0x7f && !strings.ContainsRune("¥￥€£−×÷＋＝", first) || first < 0x80 && !strings.ContainsRune("0123456789$+-=vVU", first) {
		return Amount{}, false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	if isDigit(first) && isDigit(before) || !isDigit(first) && isLatin(before) {
		return Amount{}, false
	}
	part := text[at:min(len(text), at+maxAmount)]
	for _, f := range forms {
		groups := f.pattern.FindStringSubmatch(part)
		if groups == nil || f.follows(text[:at]) || f.kind == frontend.Symbol && !isBetweenNumbers(text[:at], part[len(groups[0]):]) {
			continue
		}
		size := len(groups[0])
		if last, _ := utf8.DecodeLastRuneInString(groups[0]); isLatin(last) && isLatin(firstOf(part[size:])) {
			continue
		}
		said := spelled(f.say(groups, text[:at], part[size:]), firstOf(part[size:]))
		if f.kind != frontend.Time {
			said = strings.Replace(said, " yi4 dian", " yi1 dian", 1) // of decimals
		}
		return Amount{size, f.kind, said}, true
	}
	return Amount{}, false
}

func isLatin(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func firstOf(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

// follows reports whether a text ends with what does not come before the form.
func (f form) follows(before string) bool {
	before = strings.TrimRight(before, " ")
	for _, word := range strings.Split(f.unless, "|") {
		if word != "" && strings.HasSuffix(before, word) {
			return true
		}
	}
	return false
}

func isBetweenNumbers(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(before, " "))
	return isDigit(last) && isDigit(firstOf(after))
}

// dialled are words after which a number is said digit by digit.
var dialled = form{unless: "拨打|电话|热线|手机|号码|电话：|手机：|热线：|电话:|手机:|邮编|邮编：|密码|密码："}

// say returns a form in Chinese letters.
func (f form) say(groups []string, before, after string) string {
	if f.kind == frontend.Time {
		said := clock(groups[1], groups[2])
		if groups[3] != "" {
			said += "到" + clock(groups[3], groups[4])
		}
		return said
	}
	var out strings.Builder
	verb := rune(0)
	for _, r := range f.said {
		switch {
		case verb == '@':
			group := groups[r-'0']
			if name, ok := names[group]; ok {
				group = name
			}
			out.WriteString(group)
		case verb == '#' || verb == '$' && dialled.follows(before) && f.kind == frontend.Number:
			out.WriteString(oneByOne(digits(groups[r-'0'], f.kind != frontend.Date && f.kind != frontend.Range)))
		case verb == '$':
			out.WriteString(number(groups[r-'0']))
		case !strings.ContainsRune("#$@", r):
			out.WriteRune(r)
		}
		verb = 0
		if strings.ContainsRune("#$@", r) {
			verb = r
		}
	}
	said := strings.TrimSuffix(out.String(), "点")
	if strings.HasSuffix(said, "二") && groups[len(groups)-1] == "2" && counts(after) && !strings.HasSuffix(before, "第") {
		said = strings.TrimSuffix(said, "二") + "两"
	}
	return said
}

// counts reports whether a text begins with a measure, before which two is 两.
func counts(after string) bool {
	return strings.HasPrefix(after, "分钟") || strings.ContainsRune("个個只隻本天次位名条條张張件块塊家种種杯瓶层層岁歲年倍辆輛台臺把座头頭匹双雙对對支枝架棵篇封间間所口米公点點小万萬亿億千", firstOf(after))
}

func clock(hour, minute string) string {
	said := number(strings.TrimPrefix(hour, "0")) + "点"
	if strings.TrimPrefix(hour, "0") == "" {
		said = "零点"
	}
	if hour == "2" || hour == "02" {
		said = "两点"
	}
	switch {
	case minute == "00":
		return said
	case minute[0] == '0':
		return said + "零" + number(minute[1:]) + "分"
	default:
		return said + number(minute) + "分"
	}
}

// digits says digits one by one. In the numbers of telephones, one is 幺.
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

// border keeps the tones of single digits.
const border = "\u200b"

func oneByOne(digits string) string { return strings.Join(strings.Split(digits, ""), border) }

// maxDigits is the number of digits of a number that is not said digit by digit.
const maxDigits = 16

// number says a number that may have separators of thousands and decimals.
func number(written string) string {
	whole, decimals, hasDecimals := strings.Cut(strings.ReplaceAll(written, ",", ""), ".")
	said := digits(whole, false)
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil && len(whole) <= maxDigits && (len(whole) == 1 || whole[0] != '0') {
		said = strings.TrimPrefix(cardinal(n), "一")
		if !strings.HasPrefix(said, "十") {
			said = cardinal(n)
		}
	}
	if hasDecimals {
		said += "点" + digits(decimals, false)
	}
	return said
}

// cardinal says a number by its powers of ten, with a zero where powers are left out.
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

// spelled returns the syllables of what is said before a letter, which may change the tone of the last one.
func spelled(said string, next rune) string {
	if strings.HasSuffix(said, "一") && said != "一" {
		next = 0 // it keeps its tone
	}
	letters := []rune(said + string(next))
	var out strings.Builder
	for i, syllable := range Spell(letters)[:len(letters)-1] {
		switch {
		case syllable != "":
			out.WriteString(" " + syllable)
		case string(letters[i]) == border:
		default:
			out.WriteRune(letters[i])
		}
	}
	return out.String()
}
