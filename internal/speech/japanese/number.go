package japanese

import (
	"slices"
	"strconv"
	"strings"
)

// number is a number in katakana. Its last word is apart, because counters change it: ヒャク and ホン are ヒャッポン.
type number struct {
	head  string
	last  string
	value int64 // -1 if it is not an integer, or is read digit by digit
}

const notInteger = -1

func (n number) String() string { return n.head + n.last }

func (n *number) say(words ...string) {
	for _, word := range words {
		if word != "" {
			n.head, n.last = n.head+n.last, word
		}
	}
}

// maxDigits is the length of the longest number that is not read digit by digit.
const maxDigits = 16

// digitNames are how digits are read in a number, telephoneNames how they are read one by one.
func digitNames() []string {
	return []string{"ゼロ", "イチ", "ニ", "サン", "ヨン", "ゴ", "ロク", "ナナ", "ハチ", "キュー"}
}

func telephoneNames() []string {
	return []string{"ゼロ", "イチ", "ニー", "サン", "ヨン", "ゴー", "ロク", "ナナ", "ハチ", "キュー"}
}

// myriad is a power of 10,000 with its name.
type myriad struct {
	sign  rune
	value int64
	name  string
	kind  string // of counters, which change the end of the number before them in the same way
}

func myriads() []myriad {
	return []myriad{{'京', 1e16, "ケイ", "k"}, {'兆', 1e12, "チョー", "s"}, {'億', 1e8, "オク", ""}, {'万', 1e4, "マン", ""}}
}

// spell returns an integer, which is not negative.
func spell(value int64) number {
	n := number{}
	rest := value
	for _, m := range myriads() {
		if group := rest / m.value; group > 0 {
			n.sayGroup(group, true)
			n.last = join(number{last: n.last}, counter{kana: m.name, kind: m.kind})
		}
		rest %= m.value
	}
	n.sayGroup(rest, false)
	if value == 0 {
		n.say("ゼロ")
	}
	n.value = value
	return n
}

// sayGroup adds a number below 10,000. A thousand has its one before a myriad: イッセンマン, but センエン.
func (n *number) sayGroup(value int64, before bool) {
	thousands := strings.Split(" セン ニセン サンゼン ヨンセン ゴセン ロクセン ナナセン ハッセン キューセン", " ")
	hundreds := strings.Split(" ヒャク ニヒャク サンビャク ヨンヒャク ゴヒャク ロッピャク ナナヒャク ハッピャク キューヒャク", " ")
	tens := strings.Split(" ジュー ニジュー サンジュー ヨンジュー ゴジュー ロクジュー ナナジュー ハチジュー キュージュー", " ")
	if before {
		thousands[1] = "イッセン"
	}
	n.say(thousands[value/1000%10], hundreds[value/100%10], tens[value/10%10])
	if ones := value % 10; ones > 0 {
		n.say(digitNames()[ones])
	}
}

// digitByDigit returns digits one by one, as telephone numbers are read.
func digitByDigit(digits string) number {
	n := number{value: notInteger}
	for _, d := range digits {
		n.say(telephoneNames()[d-'0'])
	}
	return n
}

// parseNumber returns the number that a text begins with, and its length: 0 if there is none.
func parseNumber(text []rune) (n number, size int) {
	digits, size := arabic(text)
	switch {
	case size == 0:
		return parseKanji(text)
	case len(digits) > maxDigits || len(digits) > 1 && digits[0] == '0':
		return digitByDigit(digits), size
	}
	if decimals := decimalsIn(text[size:]); len(decimals) > 0 {
		n, size = fraction(digits, decimals, size)
		return withMyriad(n, text, size)
	}
	return parseKanji(text)
}

// arabic returns the digits that a text begins with, without the commas of thousands, and the length of both.
func arabic(text []rune) (digits string, size int) {
	size = digitsIn(text)
	digits = string(text[:size])
	if size > 3 {
		return digits, size
	}
	for size > 0 && size+3 < len(text) && strings.ContainsRune(",，", text[size]) && digitsIn(text[size+1:]) == 3 {
		digits += string(text[size+1 : size+4])
		size += 4
	}
	return digits, size
}

func digitsIn(text []rune) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// decimalsIn returns the digits after each point of a decimal fraction or a version.
func decimalsIn(text []rune) (parts []string) {
	for len(text) > 1 && strings.ContainsRune(".．", text[0]) {
		n := digitsIn(text[1:])
		if n == 0 {
			break
		}
		parts = append(parts, string(text[1:n+1]))
		text = text[n+1:]
	}
	return parts
}

// fraction returns a decimal fraction with an integer of size characters: レイテンゴ, イッテンニ, イッテンニーテンサン.
func fraction(digits string, decimals []string, size int) (number, int) {
	value, _ := strconv.ParseInt(digits, 10, 64)
	n := spell(value)
	if value == 0 && len(decimals) == 1 {
		n = number{last: "レイ"}
	}
	for _, part := range decimals {
		n = number{head: join(n, counter{kana: "テン", kind: "s"})}
		for _, d := range part {
			n.say(digitNames()[d-'0'])
		}
		size += 1 + len(part)
	}
	n.value = notInteger
	return n, size
}

// withMyriad adds 万, or another power of ten, to a decimal fraction.
func withMyriad(n number, text []rune, size int) (number, int) {
	for _, m := range myriads() {
		if size < len(text) && text[size] == m.sign {
			return number{last: join(n, counter{kana: m.name, kind: m.kind}), value: notInteger}, size + 1
		}
	}
	return n, size
}

// sum adds up the parts of an integer in Chinese numerals, or in both scripts: 3万5千.
type sum struct {
	total, section, digits int64 // up to the last myriad; up to the last of 千, 百 and 十; after it, or -1
	lowest, limit          int64 // the value of the last of 千, 百 and 十, and of the last myriad
}

const noDigits = -1

// parseKanji returns the integer that a text begins with, in Chinese numerals, digits, or both.
func parseKanji(text []rune) (n number, size int) {
	if count := len(kanjiDigits(text)); count > 1 && (count == len(text) || !isUnit(text[count])) {
		return positional(kanjiDigits(text)), count
	}
	s := sum{digits: noDigits, lowest: 1e4, limit: 1e17}
	for size < len(text) {
		taken := s.take(text[size:])
		if taken == 0 {
			break
		}
		size += taken
	}
	if size == 0 {
		return number{}, 0
	}
	return spell(s.total + s.section + max(s.digits, 0)), size
}

// take adds the numeral that a text begins with, and returns its length: 0 if the number does not continue.
func (s *sum) take(text []rune) int {
	if digits, n := arabic(text); n > 0 {
		return s.takeDigits(digits, n)
	}
	if digits := kanjiDigits(text); digits != "" {
		return s.takeDigits(digits, len(digits))
	}
	if unit := strings.IndexRune("十百千", text[0]); unit >= 0 {
		return s.takeUnit([]int64{10, 100, 1000}[unit/len("十")])
	}
	i := slices.IndexFunc(myriads(), func(m myriad) bool { return m.sign == text[0] })
	if i < 0 {
		return 0
	}
	return s.takeMyriad(myriads()[i].value)
}

func (s *sum) takeDigits(digits string, size int) int {
	value, err := strconv.ParseInt(digits, 10, 64)
	if s.digits != noDigits || err != nil || len(digits) > maxDigits || s.lowest < 1e4 && value >= s.lowest {
		return 0
	}
	s.digits = value
	return size
}

// takeUnit adds a 十, 百 or 千, each smaller than the one before, after at most one digit.
func (s *sum) takeUnit(value int64) int {
	if value >= s.lowest || s.digits > 9 || s.digits == 0 {
		return 0
	}
	s.section += max(s.digits, 1) * value
	s.lowest, s.digits = value, noDigits
	return 1
}

func (s *sum) takeMyriad(value int64) int {
	group := s.section + max(s.digits, 0)
	if value >= s.limit || group == 0 || group >= s.limit/value {
		return 0
	}
	s.total += group * value
	s.section, s.digits, s.lowest, s.limit = 0, noDigits, 1e4, value
	return 1
}

// kanjiDigits returns the Chinese digits that a text begins with, in ASCII.
func kanjiDigits(text []rune) string {
	var digits []byte
	for _, c := range text {
		i := strings.IndexRune("零一二三四五六七八九", c)
		if c == '〇' {
			i = 0
		}
		if i < 0 {
			break
		}
		digits = append(digits, '0'+byte(i/len("一")))
	}
	return string(digits)
}

func isUnit(c rune) bool { return strings.ContainsRune("十百千万億兆京", c) }

// positional returns a number in Chinese digits alone. Two digits that follow each other are an estimate: 二三日 is two
// or three days.
func positional(digits string) number {
	value, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case len(digits) == 2 && digits[0] != '0' && digits[1] == digits[0]+1:
		n := number{value: notInteger}
		n.say(digitNames()[digits[0]-'0'], digitNames()[digits[1]-'0'])
		return n
	case err != nil || digits[0] == '0' || len(digits) > maxDigits:
		return digitByDigit(digits)
	}
	return spell(value)
}
