package frontend

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxSpelled bounds the numbers that the rules spell; longer ones are read digit by digit.
const maxSpelled = 1_000_000_000_000_000

// maxDepth bounds the recursion of rules: numbers below maxSpelled need much less.
const maxDepth = 40

// speller interprets the CLDR's rules for spelling numbers (RBNF; Unicode Technical Standard 35, part 3).
type speller map[string][]numberRule

// numberRule spells the numbers from its base up to the base of the next rule.
type numberRule struct {
	base, divisor int64
	text          string
}

// parseRules reads the rules as command cldr writes them.
func parseRules(content string) speller {
	s := make(speller)
	name := ""
	for line := range strings.Lines(content) {
		line = strings.TrimSuffix(line, "\n")
		base, text, isRule := strings.Cut(line, "\t")
		if !isRule {
			name = line
			continue
		}
		s.learn(name, base, strings.TrimSuffix(text, ";"))
	}
	return s
}

// learn adds a rule to a named set, in place of the one with its base.
func (s speller) learn(name, base, text string) {
	rule, ok := parseRule(base, text)
	if !ok {
		return
	}
	rules := s[name]
	i, found := slices.BinarySearchFunc(rules, rule.base, numberRule.compare)
	if found {
		rules[i] = rule
	} else {
		s[name] = slices.Insert(rules, i, rule)
	}
}

func (r numberRule) compare(n int64) int { return cmp.Compare(r.base, n) }

// parseRule reads a rule of whole numbers. The others (negative numbers, fractions, infinity) are spelled by this
// package.
func parseRule(base, text string) (numberRule, bool) {
	shorter := strings.Count(base, ">")
	value, root, hasRadix := strings.Cut(strings.TrimRight(base, ">"), "/")
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return numberRule{}, false
	}
	radix := int64(10)
	if hasRadix {
		if radix, err = strconv.ParseInt(root, 10, 64); err != nil || radix < 2 {
			return numberRule{}, false
		}
	}
	divisor := int64(1)
	for divisor <= n/radix {
		divisor *= radix
	}
	for range shorter {
		divisor = max(divisor/radix, 1)
	}
	return numberRule{base: n, divisor: divisor, text: strings.TrimPrefix(text, "'")}, true
}

// spell spells a number by a set of rules; it returns "" if there is none or the number is out of range.
func (s speller) spell(set string, n int64) string {
	if n < 0 || n >= maxSpelled {
		return ""
	}
	var out strings.Builder
	if !s.write(&out, set, n, maxDepth) {
		return ""
	}
	return out.String()
}

func (s speller) write(out *strings.Builder, set string, n int64, depth int) bool {
	rules := s[set]
	i, exact := slices.BinarySearchFunc(rules, n, numberRule.compare)
	if !exact {
		i--
	}
	if i < 0 || depth == 0 {
		return false
	}
	rule := rules[i]
	if i > 0 && n%rule.divisor == 0 && rule.base%rule.divisor != 0 && strings.Contains(rule.text, "→") {
		rule = rules[i-1] // the specification's exception for "twenty-one hundred"
	}
	return s.apply(out, set, rule, n, depth-1)
}

// apply writes the text of a rule with its substitutions. Text in brackets is left out of multiples, for which there
// may be another text after a stroke.
func (s speller) apply(out *strings.Builder, set string, rule numberRule, n int64, depth int) bool {
	text := rule.withPlural(n / rule.divisor)
	if before, rest, ok := strings.Cut(text, "["); ok {
		optional, after, _ := strings.Cut(rest, "]")
		optional, multiple, _ := strings.Cut(optional, "|")
		if n%rule.divisor == 0 {
			optional = multiple
		}
		text = before + optional + after
	}
	for text != "" {
		i := strings.IndexAny(text, "←→=")
		if i < 0 {
			break
		}
		out.WriteString(text[:i])
		_, size := utf8.DecodeRuneInString(text[i:])
		mark := text[i : i+size]
		inner, rest, ok := strings.Cut(text[i+len(mark):], mark)
		if !ok || !s.substitute(out, set, inner, part(rule, mark, n), depth) {
			return false
		}
		if text = rest; mark == "→" {
			text = strings.TrimPrefix(rest, mark) // →→→ is read as →→
		}
	}
	out.WriteString(text)
	return true
}

// withPlural returns the text of a rule, with the form for a number of "$(cardinal,one{…}few{…}other{…})$".
func (r numberRule) withPlural(n int64) string {
	before, rest, ok := strings.Cut(r.text, "$(cardinal,")
	forms, after, closed := strings.Cut(rest, ")$")
	if !ok || !closed {
		return r.text
	}
	plural := slavicPlural(n)
	if n != 1 && !strings.Contains(forms, "few{") {
		plural = "other"
	}
	for _, name := range []string{plural, "other"} {
		if _, form, ok := strings.Cut(forms, name+"{"); ok {
			form, _, _ = strings.Cut(form, "}")
			return before + form + after
		}
	}
	return before + after
}

// slavicPlural returns the plural category of a number in Russian. In Polish only 1 is "one", but its rules of numbers
// have no such form.
func slavicPlural(n int64) string {
	tens, ones := n%100/10, n%10
	switch {
	case tens != 1 && ones == 1:
		return "one"
	case tens != 1 && ones >= 2 && ones <= 4:
		return "few"
	default:
		return "other"
	}
}

// part returns the number that a substitution spells.
func part(rule numberRule, mark string, n int64) int64 {
	switch mark {
	case "←":
		return n / rule.divisor
	case "→":
		return n % rule.divisor
	default:
		return n
	}
}

func (s speller) substitute(out *strings.Builder, set, inner string, n int64, depth int) bool {
	switch {
	case inner == "":
		return s.write(out, set, n, depth)
	case inner[0] == '%':
		return s.write(out, inner, n, depth)
	default: // a format of digits
		out.WriteString(strconv.FormatInt(n, 10))
		return true
	}
}
