package feed

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// Projection turns events into the rows of a read model. A change of its tables, or of its handling of events, needs a
// new version: versions exist side by side, each with tables and views of its own.
type Projection struct {
	readmodel.Model
	Tables []*table.Table
	Views  []readmodel.View

	// Streams are the streams whose events are passed to Handle. An event of an unknown type in one of them stops the
	// projection, which may need it.
	Streams eventlog.Streams

	// Handle turns one event into row operations. It only writes, and ignores events that it does not know. An error or a
	// panic makes the event poison: it stops this projection alone. Error texts must not quote the event's data.
	Handle func(event eventlog.Decoded, rows *table.Rows) error
}

// star matches a column list that is not explicit. It would change its meaning with the table, under prepared
// statements.
var star = regexp.MustCompile(`(?i)(select|,)\s*(distinct\s+)?\*|\.\s*\*`)

func (p Projection) check() error {
	switch {
	case !table.ValidName(p.Name):
		return fmt.Errorf("projection %q: a name is lower case letters, digits and underscores", p.Name)
	case p.Version < 1 || p.Version > 9999:
		return fmt.Errorf("projection %s: versions go from 1 to 9999", p.Name)
	case p.Handle == nil:
		return fmt.Errorf("projection %s handles no events", p.Name)
	case len(p.Streams) == 0:
		return fmt.Errorf("projection %s reads no streams", p.Name)
	case len(p.Tables) == 0:
		return fmt.Errorf("projection %s has no table", p.Name)
	}
	if err := p.checkTables(); err != nil {
		return fmt.Errorf("projection %s: %w", p.Name, err)
	}
	for _, v := range p.Views {
		if !table.ValidName(v.Name) {
			return fmt.Errorf("projection %s: view %q: a name is lower case letters, digits and underscores", p.Name, v.Name)
		}
		if v.Model != p.Model {
			return fmt.Errorf("projection %s: view %s is one of %s, not of %s", p.Name, v.Name, v.Model, p.Model)
		}
		if star.MatchString(v.Select) {
			return fmt.Errorf("projection %s: view %s needs an explicit column list", p.Name, v.Name)
		}
	}
	return nil
}

func (p Projection) checkTables() error {
	seen := map[string]bool{}
	for _, t := range p.Tables {
		if t == nil {
			return errors.New("a table is nil")
		}
		if err := t.Check(); err != nil {
			return err
		}
		if seen[t.Name()] {
			return fmt.Errorf("table %s is listed twice", t.Name())
		}
		seen[t.Name()] = true
	}
	return nil
}

// checkAll returns an error for two projections or two views with the same name.
func checkAll(projections []Projection) error {
	if len(projections) == 0 {
		return errors.New("there is no projection")
	}
	names, views := map[string]bool{}, map[string]bool{}
	for _, p := range projections {
		if err := p.check(); err != nil {
			return err
		}
		if names[p.Name] {
			return fmt.Errorf("projection %s is listed twice", p.Name)
		}
		names[p.Name] = true
		for _, v := range p.Views {
			name := v.SQL()
			if views[name] {
				return fmt.Errorf("projection %s: another one has the view %s", p.Name, name)
			}
			views[name] = true
		}
	}
	return nil
}

func tableSchema(name string, version, generation int) string {
	return fmt.Sprintf("rm_%s_v%d_g%d", name, version, generation)
}
