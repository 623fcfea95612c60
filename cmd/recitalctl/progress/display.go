package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

const (
	wholeBar = 10_000                 // maximum of a bar
	barWidth = 40                     // in columns, if there are as many
	refresh  = 200 * time.Millisecond // interval at which bars are drawn
	every    = 5 * time.Second        // interval at which an item whose state does not change is printed as a line
)

// Item is something that is under way. Text from a server must already be printable.
type Item struct {
	Title   string  // identifies it
	Share   float64 // that is done, 0 to 1; negative if unknown
	State   string  // has a line printed as soon as it changes
	Details string  // figures next to a bar or in a line
	Object  any     // the item for programs
	Done    bool
	Failed  bool // it cannot succeed any more
}

func (i Item) ended() bool { return i.Done || i.Failed }

// Display displays the progress of items: as bars on a terminal, and elsewhere as a line when the state of an item
// changes, and at intervals.
type Display struct {
	out, notes io.Writer
	objects    bool
	shown      map[string]shown

	bars    *mpb.Progress // nil for lines
	byTitle map[string]*mpb.Bar
	mu      sync.Mutex
	details map[string]string
}

type shown struct {
	item Item
	at   time.Time
}

// New returns a Display for people, on a screen if there is one.
func New(screen *os.File, notes io.Writer) *Display {
	d := &Display{out: notes, notes: notes, shown: map[string]shown{}, byTitle: map[string]*mpb.Bar{},
		details: map[string]string{}}
	if screen != nil {
		d.bars = mpb.New(mpb.WithOutput(screen), mpb.WithRefreshRate(refresh))
		d.notes = d.bars // prints above the bars
	}
	return d
}

// NewJSON returns a Display for programs, which prints JSON objects on out.
func NewJSON(out, notes io.Writer) *Display {
	return &Display{out: out, notes: notes, objects: true, shown: map[string]shown{}}
}

// Show displays items. It is called repeatedly, always with the same order of items.
func (d *Display) Show(items ...Item) { d.show(items, time.Now()) }

func (d *Display) show(items []Item, now time.Time) {
	for _, item := range items {
		if d.bars != nil {
			d.draw(item)
			continue
		}
		before, known := d.shown[item.Title]
		changed := item.State != before.item.State || item.ended() != before.item.ended()
		if !changed && known && (before.item.ended() || now.Sub(before.at) < every) {
			continue
		}
		d.shown[item.Title] = shown{item, now}
		if changed || known {
			fmt.Fprintln(d.out, d.line(item))
		}
	}
}

func (d *Display) line(item Item) string {
	if !d.objects {
		return fmt.Sprintf("%-16s %s", item.Title, item.Details)
	}
	text, err := json.Marshal(item.Object)
	if err != nil { // a figure that is not a number
		return "{}"
	}
	return string(text)
}

func (d *Display) draw(item Item) {
	d.mu.Lock()
	d.details[item.Title] = item.Details
	d.mu.Unlock()
	bar := d.byTitle[item.Title]
	if bar == nil {
		bar = d.addBar(item)
		d.byTitle[item.Title] = bar
	}
	bar.SetCurrent(min(int64(item.Share*wholeBar), wholeBar-1)) // a full bar cannot change any more
	switch {
	case item.Done:
		bar.SetTotal(wholeBar, true)
	case item.Failed:
		bar.Abort(false)
	}
}

func (d *Display) addBar(item Item) *mpb.Bar {
	details := func(decor.Statistics) string {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.details[item.Title]
	}
	var style mpb.BarFillerBuilder = mpb.BarStyle()
	if item.Share < 0 {
		style = mpb.NopStyle()
	}
	return d.bars.New(wholeBar, style, mpb.BarWidth(barWidth),
		mpb.PrependDecorators(decor.Name(item.Title, decor.WCSyncSpaceR)), mpb.AppendDecorators(decor.Any(details)))
}

// Note displays a message.
func (d *Display) Note(text string) { fmt.Fprintln(d.notes, text) }

// Close ends the display, and leaves its last state on the screen.
func (d *Display) Close() {
	for _, bar := range d.byTitle {
		bar.Abort(false) // no effect on a full one
	}
	if d.bars != nil {
		d.bars.Wait()
	}
}
