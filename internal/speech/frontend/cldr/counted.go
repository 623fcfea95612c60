package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// unitKeys are the CLDR's names of the units that are read, by their symbols. Languages add symbols of their own.
var unitKeys = [][2]string{
	{"%", "concentr-percent"}, {"°C", "temperature-celsius"}, {"kWh", "energy-kilowatt-hour"},
	{"km", "length-kilometer"}, {"m", "length-meter"}, {"cm", "length-centimeter"}, {"mm", "length-millimeter"},
	{"kg", "mass-kilogram"}, {"g", "mass-gram"}, {"mg", "mass-milligram"}, {"l L", "volume-liter"},
	{"dl dL", "volume-deciliter"}, {"ml mL", "volume-milliliter"}, {"m² m2", "area-square-meter"},
	{"km² km2", "area-square-kilometer"}, {"km/h", "speed-kilometer-per-hour"},
	{"m/s", "speed-meter-per-second"}, {"W", "power-watt"}, {"kW", "power-kilowatt"}, {"MHz", "frequency-megahertz"},
	{"GHz", "frequency-gigahertz"}, {"MB", "digital-megabyte"}, {"GB", "digital-gigabyte"}, {"TB", "digital-terabyte"},
	{"min", "duration-minute"}, {"", "duration-hour"}, {"", "duration-second"},
}

// currencies are read in every language, and ownCurrencies in their own.
var (
	currencies    = []string{"EUR", "USD", "GBP", "JPY"}
	ownCurrencies = map[string]string{
		"az": "AZN", "bg": "BGN", "cs": "CZK", "da": "DKK", "he": "ILS", "hi": "INR", "gu": "INR", "ta": "INR", "hu": "HUF",
		"hy": "AMD", "id": "IDR", "is": "ISK", "ka": "GEL", "kk": "KZT", "ko": "KRW", "ms": "MYR", "no": "NOK", "ro": "RON",
		"sv": "SEK", "th": "THB", "tr": "TRY", "uk": "UAH", "vi": "VND",
	}
	ownSymbols = map[string][]string{"VND": {"đ", "VNĐ"}}
)

// percent has the words of languages for which the CLDR has only the sign.
var percent = map[string]string{"ko": "{0} 퍼센트", "vi": "{0} phần trăm"}

// patterns has the patterns of an amount of a unit by the name of its plural category, and its gender.
type patterns map[string]string

// writeCounted writes the words that numbers need, "word", name and value, and "unit", symbols, gender, category and
// pattern of an amount, in which {0} is the number.
func writeCounted(modules, language, target string) error {
	var rbnf struct {
		RBNF struct {
			RBNF map[string]map[string]json.RawMessage
		}
	}
	var units struct {
		Main map[string]struct{ Units map[string]json.RawMessage }
	}
	if err := read(filepath.Join(modules, "cldr-rbnf/rbnf", language+".json"), &rbnf); err != nil {
		return err
	}
	err := read(filepath.Join(modules, "cldr-units-full/main", language, "units.json"), &units)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var out strings.Builder
	writeWords(&out, rbnf.RBNF.RBNF["SpelloutRules"])
	var long, short map[string]patterns
	for name, into := range map[string]*map[string]patterns{"long": &long, "short": &short} {
		if err := json.Unmarshal(dropNested(units.Main[language].Units[name]), into); err != nil {
			return err
		}
	}
	known := make(map[string]bool)
	for _, unit := range unitKeys {
		own := strings.Trim(strings.ReplaceAll(short[unit[1]]["unitPattern-count-other"], "{0}", ""), " \u00a0\u200f")
		symbols := strings.Fields(unit[0])
		if len([]rune(own)) > 1 && !strings.ContainsAny(own, " \u00a0") {
			symbols = append(symbols, own)
		}
		symbols = slices.DeleteFunc(symbols, func(symbol string) bool { return known[symbol] })
		for _, symbol := range symbols {
			known[symbol] = true
		}
		writeUnit(&out, slices.Compact(symbols), long[unit[1]])
	}
	if words := percent[language]; words != "" {
		fmt.Fprintf(&out, "unit\t%%\t\tother\t%s\n", words)
	}
	if err := writeMoney(&out, modules, language); err != nil {
		return err
	}
	return os.WriteFile(target, []byte(out.String()), 0o644)
}

// dropNested removes the objects from units, which keeps their patterns.
func dropNested(content json.RawMessage) json.RawMessage {
	var all map[string]map[string]json.RawMessage
	if json.Unmarshal(content, &all) != nil {
		return content
	}
	for _, unit := range all {
		maps.DeleteFunc(unit, func(_ string, value json.RawMessage) bool { return value[0] != '"' })
	}
	kept, err := json.Marshal(all)
	if err != nil {
		return content
	}
	return kept
}

// writeWords writes the names of the decimal mark and of the minus sign, which are in the rules.
func writeWords(out *strings.Builder, sets map[string]json.RawMessage) {
	words := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		var rules [][2]string
		if json.Unmarshal(sets[name], &rules) != nil || strings.Contains(name, "ordinal") {
			continue
		}
		for _, rule := range rules {
			text := strings.TrimSpace(strings.NewReplacer("←←", "", "→", "", ";", "", "\u200b", "").Replace(rule[1]))
			kind := map[string]string{"-x": "minus", "x.x": "comma"}[rule[0]]
			if kind != "" && !strings.ContainsAny(text, "=←%") {
				words[kind] = text
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(words)) {
		fmt.Fprintf(out, "word\t%s\t%s\n", name, words[name])
	}
}

func writeUnit(out *strings.Builder, symbols []string, of patterns) {
	other := of["unitPattern-count-other"]
	if len(symbols) == 0 || other == "" {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		category, ok := strings.CutPrefix(key, "unitPattern-count-")
		if ok && !strings.ContainsAny(of[key], "%٪") && (category == "other" || of[key] != other) {
			pattern := joined.ReplaceAllString(of[key], "{0} $1")
			fmt.Fprintf(out, "unit\t%s\t%s\t%s\t%s\n", strings.Join(symbols, " "), of["gender"], category, pattern)
		}
	}
}

// joined matches a number and a word without a space between them. Korean is written that way.
var joined = regexp.MustCompile(`\{0\}([^\s\p{Hangul}])`)

func writeMoney(out *strings.Builder, modules, language string) error {
	type numbers struct {
		Main map[string]struct {
			Numbers struct {
				Currencies map[string]map[string]string
				Symbols    map[string]string `json:"symbols-numberSystem-latn"`
				Formats    json.RawMessage   `json:"currencyFormats-numberSystem-latn"`
			}
		}
	}
	var names, marks numbers
	folder := filepath.Join(modules, "cldr-numbers-full/main", language)
	if err := read(filepath.Join(folder, "currencies.json"), &names); err != nil {
		return err
	}
	if err := read(filepath.Join(folder, "numbers.json"), &marks); err != nil {
		return err
	}
	of := marks.Main[language].Numbers
	fmt.Fprintf(out, "word\tdecimal\t%s\nword\tgroup\t%s\n", of.Symbols["decimal"], of.Symbols["group"])
	formats := make(map[string]any)
	if err := json.Unmarshal(of.Formats, &formats); err != nil {
		return err
	}
	own := ownCurrencies[language]
	for _, code := range append(slices.Clone(currencies), own) {
		name := names.Main[language].Numbers.Currencies[code]
		money := make(patterns)
		for key, value := range name {
			if category, ok := strings.CutPrefix(key, "displayName-count-"); ok {
				pattern, ok := formats["unitPattern-count-"+category].(string)
				if !ok {
					pattern, _ = formats["unitPattern-count-other"].(string)
				}
				money["unitPattern-count-"+category] = strings.ReplaceAll(pattern, "{1}", value)
			}
		}
		symbols := []string{name["symbol-alt-narrow"]}
		if code == "USD" {
			symbols = []string{"$", "US$"}
		}
		if code == own {
			symbols = append(symbols, name["symbol"], name["symbol-alt-variant"])
			symbols = append(symbols, ownSymbols[code]...)
			slices.Sort(symbols)
			symbols = slices.Compact(symbols)
		}
		writeUnit(out, slices.DeleteFunc(symbols, func(s string) bool { return s == "" || s == code }), money)
	}
	return nil
}
