package japanese

import (
	"slices"
	"strconv"
	"strings"
)

// readNumber reads a number that begins at the position, with the signs and counters around it. A Chinese numeral is
// one only if the analyser takes it for one.
func (r *reader) readNumber(class Class) bool {
	text := r.text[r.at:]
	if i := strings.IndexRune("¥$€£", text[0]); i >= 0 && digitsIn(text[1:]) > 0 {
		return r.readAmount(map[rune]string{'¥': "円", '$': "ドル", '€': "ユーロ", '£': "ポンド"}[text[0]])
	}
	if digitsIn(text) == 0 && class != Numeral {
		return r.readSign()
	}
	return r.readDigits() || r.readSeparated() || r.readCounted()
}

// readSign reads the sign of the number that follows. After a Latin letter it is a hyphen: GPT-4.
func (r *reader) readSign() bool {
	if !r.isNumberAt(r.at+1) || r.at > 0 && r.text[r.at-1] < '\u0250' && isSounded(r.text[r.at-1]) {
		return false
	}
	sign := map[rune]string{'+': "プラス", '-': "マイナス", '−': "マイナス"}[r.text[r.at]]
	if sign != "" {
		r.add(r.at+1, sign, Prefix)
	}
	return sign != ""
}

// readAmount reads a number after its unit.
func (r *reader) readAmount(unit string) bool {
	n, size := parseNumber(r.text[r.at+1:])
	end := r.at + 1 + size
	if !r.isBorder(end) {
		return false
	}
	r.addNumber(end, count(n, counters().counters[unit]))
	return true
}

// addNumber adds a number, or the sign between two numbers.
func (r *reader) addNumber(end int, spoken string) { r.add(end, spoken, Word) }

// readCounted reads a number with the longest counter that ends where a morpheme does, if there is one.
func (r *reader) readCounted() bool {
	n, size := parseNumber(r.text[r.at:])
	end := r.at + size
	if size == 0 {
		return false
	}
	spoken := n.String()
	if c, after, found := r.counterAt(end); found {
		spoken, end = r.dayOfMonth(count(n, c), after), after
	}
	spoken, end = r.withSuffix(spoken, end)
	if !r.isBorder(end) {
		return false
	}
	r.addNumber(end, spoken)
	if r.text[end-1] == '日' {
		r.readWeekday()
	}
	r.readRange()
	return true
}

// counterAt returns the longest counter of the list at a position, or else the counter of the dictionary, and its end.
func (r *reader) counterAt(at int) (c counter, end int, found bool) {
	all := counters()
	if i, is := slices.BinarySearch(r.starts, at); is && i < len(r.morphemes) && r.morphemes[i].Class == Counter {
		c, end, found = counterOf(r.morphemes[i]), r.starts[i+1], true
	}
	for end := min(at+all.longest, len(r.text)); end > at; end-- {
		written := string(r.text[at:end])
		c, found := all.counters[written]
		if !found || !r.isBorder(end) && r.suffixAt(end) == "" || written == "分の" && !r.isNumberAt(end) {
			continue
		}
		return c, end, true
	}
	return c, end, found
}

// suffixAt returns the reading of a suffix of a counter: 3日間, 2回目 and 5人分.
func (r *reader) suffixAt(at int) string {
	if at >= len(r.text) || !r.isBorder(at+1) {
		return ""
	}
	return map[rune]string{'間': "カン", '目': "メ", '分': "ブン"}[r.text[at]]
}

// withSuffix adds such a suffix to a number that ends at a position.
func (r *reader) withSuffix(spoken string, end int) (string, int) {
	if suffix := r.suffixAt(end); suffix != "" && digitsIn(r.text[end-1:end]) == 0 && !isKanjiNumeral(r.text[end-1]) {
		return spoken + suffix, end + 1
	}
	return spoken, end
}

func isKanjiNumeral(c rune) bool { return isUnit(c) || kanjiDigits([]rune{c}) != "" }

func (r *reader) isNumberAt(at int) bool {
	return at < len(r.text) && (digitsIn(r.text[at:at+1]) > 0 || isKanjiNumeral(r.text[at]))
}

// dayOfMonth returns the reading of a number and a counter that end at a position: 1日 is the first day of a month if a
// month is before it, or から or a day of the week after it.
func (r *reader) dayOfMonth(spoken string, end int) string {
	if spoken != "イチニチ" {
		return spoken
	}
	before, after := string(r.text[max(r.at-2, 0):r.at]), string(r.text[end:min(end+2, len(r.text))])
	switch {
	case strings.HasSuffix(before, "月"), strings.HasSuffix(before, "月の"), after == "から", r.weekdayAt(end) != "":
		return "ツイタチ"
	}
	return spoken
}

// weekdayAt returns the reading of a day of the week in brackets, as it follows a date, or "".
func (r *reader) weekdayAt(at int) string {
	if at+3 > len(r.text) || !strings.ContainsRune("(（", r.text[at]) || !strings.ContainsRune(")）", r.text[at+2]) {
		return ""
	}
	return map[rune]string{'月': "ゲツ", '火': "カ", '水': "スイ", '木': "モク", '金': "キン", '土': "ド",
		'日': "ニチ"}[r.text[at+1]]
}

// readWeekday reads the day of the week after a date.
func (r *reader) readWeekday() {
	if day := r.weekdayAt(r.at); day != "" {
		r.add(r.at+1, "", Symbol)
		r.add(r.at+1, day, Word)
		r.add(r.at+1, "", Symbol)
	}
}

// readRange reads the sign between two numbers: 3〜5人 is カラ, and 1-2-3 is ノ.
func (r *reader) readRange() {
	if r.at >= len(r.text) || !r.isNumberAt(r.at+1) || !r.isBorder(r.at+1) {
		return
	}
	switch r.text[r.at] {
	case '〜', '～', '~', '–':
		r.addNumber(r.at+1, "カラ")
	case '-', '−':
		_, size := parseNumber(r.text[r.at+1:])
		if _, _, counted := r.counterAt(r.at + 1 + size); counted {
			r.addNumber(r.at+1, "カラ")
			return
		}
		r.addNumber(r.at+1, "ノ")
	}
}

// readDigits reads groups of digits beginning with 0, as in telephone numbers, or a postal code.
func (r *reader) readDigits() bool {
	text := r.text[r.at:]
	first := digitsIn(text)
	isGrouped := first+1 < len(text) && text[first] == '-' && digitsIn(text[first+1:]) > 0
	isPostal := r.at > 0 && r.text[r.at-1] == '〒'
	if !isPostal && (first < 2 || text[0] != '0' || !isGrouped) {
		return false
	}
	for {
		n := digitsIn(r.text[r.at:])
		r.addNumber(r.at+n, digitByDigit(string(r.text[r.at:r.at+n])).String())
		if r.at+1 >= len(r.text) || r.text[r.at] != '-' || digitsIn(r.text[r.at+1:]) == 0 {
			return true
		}
		r.addNumber(r.at+1, "ノ")
	}
}

// readSeparated reads dates (2026/11/25, 11/25), times (10:30) and fractions (3/4).
func (r *reader) readSeparated() bool {
	if times, _ := r.figures(":"); len(times) > 1 && times[0] < 25 && times[1] < 60 {
		return r.addCounted(times, "時", "分", "秒")
	}
	if date, _ := r.figures("/-."); len(date) == 3 && date[0] > 999 && isDay(date[1], date[2]) {
		return r.addCounted(date, "年", "月", "日")
	}
	parts, size := r.figures("/")
	switch {
	case len(parts) != 2:
		return false
	case isDay(parts[0], parts[1]) && (parts[1] > 12 || r.weekdayAt(r.at+size) != ""):
		return r.addCounted(parts, "月", "日")
	}
	top, bottom := spell(parts[0]).String(), spell(parts[1]).String()
	if parts[0] > parts[1] && parts[1] >= minPressure {
		r.addNumber(r.at+size, top+" "+bottom)
	} else {
		r.addNumber(r.at+size, bottom+"ブンノ"+top)
	}
	return true
}

// minPressure is the smallest lower number for which "120/80" is a blood pressure, and no fraction.
const minPressure = 30

func isDay(month, day int64) bool { return month >= 1 && month <= 12 && day >= 1 && day <= 31 }

// figures returns the numbers of at most four digits that begin at the position, with such marks between them, and the
// length of all: up to three, and none if there are more.
func (r *reader) figures(marks string) (values []int64, size int) {
	for text := r.text[r.at:]; ; text = text[1:] {
		n := digitsIn(text)
		if n > 4 || len(values) == 3 {
			return nil, 0
		}
		value, _ := strconv.ParseInt(string(text[:n]), 10, 64)
		values, size = append(values, value), size+n
		if text = text[n:]; len(text) < 2 || !strings.ContainsRune(marks, text[0]) || digitsIn(text[1:]) == 0 {
			return values, size
		}
		size++
	}
}

// addCounted adds such numbers with their counters. Each has the mark after it; minutes that are 0 are silent.
func (r *reader) addCounted(values []int64, units ...string) bool {
	for i, value := range values {
		end := r.at + digitsIn(r.text[r.at:])
		spoken := count(spell(value), counters().counters[units[i]])
		switch {
		case i+1 < len(values):
			end++
		case units[i] == "分" && value == 0:
			r.out[len(r.out)-1].Original += string(r.written[r.at:end])
			r.at = end
			r.readRange()
			return true
		case spoken == "イチニチ":
			spoken = "ツイタチ"
		}
		r.addNumber(end, spoken)
	}
	r.readWeekday()
	r.readRange()
	return true
}
