package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/recital-tts/recital/internal/http/adminapi"
)

// printing is the form in which settings are printed, "" for not at all.
type printing string

// IsBool has kong take the flag without a value.
func (printing) IsBool() bool { return true }

// Decode is called by kong.
func (p *printing) Decode(ctx *kong.DecodeContext) error {
	*p = "table"
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	*p = printing(ctx.Scan.Pop().String())
	if *p != "table" && *p != "json" {
		return errors.New("it is table or json")
	}
	return nil
}

// print prints the settings that recitald would run with.
func (p printing) print(out io.Writer, settings []adminapi.Setting) error {
	if p == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(settings)
	}
	aligned := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(aligned, "SETTING\tFROM\tVALUE")
	for _, s := range settings {
		fmt.Fprintf(aligned, "%s\t%s\t%s\n", s.Variable, s.From, s.Value)
	}
	return aligned.Flush()
}
