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
	wholeBar = 10_000                 // length of a bar
	barWidth = 40                     // in columns, if there is room
	refresh  = 200 * time.Millisecond // interval of drawing bars
	every    = 5 * time.Second        // interval of printing an item whose state does not change
)

// Item is the progress of something. Text from a server must already be printable.
type Item struct {
	Title   string  // identifies the item
	Share   float64 // share that is done, from 0 to 1; negative if unknown
	State   string  // a line is printed when it changes
	Details string  // text next to a bar or in a line
	Object  any     // encoded for programs
	Done    bool
	Failed  bool // it can no longer succeed
}

func (i Item) ended() bool { return i.Done || i.Failed }

// Display shows the progress of items. On a terminal it draws bars. Elsewhere it prints a line whenever the state of an
// item changes, and at intervals.
type Display struct {
	out, notes io.Writer
	objects    bool
	shown      map[string]shown

	bars    *mpb.Progress // nil if lines are printed
	byTitle map[string]*mpb.Bar
	mu      sync.Mutex
	details map[string]string
}

type shown struct {
	item Item
	at   time.Time
}

// New returns a Display for people. It draws on screen unless that is nil.
func New(screen *os.File, notes io.Writer) *Display {
	d := &Display{out: notes, notes: notes, shown: map[string]shown{}, byTitle: map[string]*mpb.Bar{},
		details: map[string]string{}}
	if screen != nil {
		d.bars = mpb.New(mpb.WithOutput(screen), mpb.WithRefreshRate(refresh))
		d.notes = d.bars // prints above the bars
	}
	return d
}

// NewJSON returns a Display for programs, which prints JSON objects to out.
func NewJSON(out, notes io.Writer) *Display {
	return &Display{out: out, notes: notes, objects: true, shown: map[string]shown{}}
}

// Show updates items. Each call must have the same items in the same order.
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
	if err != nil { // a number that JSON cannot represent
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
	bar.SetCurrent(min(int64(item.Share*wholeBar), wholeBar-1)) // a full bar can no longer change
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

// Note prints a message.
func (d *Display) Note(text string) { fmt.Fprintln(d.notes, text) }

// Close ends the display. Its last state stays on the screen.
func (d *Display) Close() {
	for _, bar := range d.byTitle {
		bar.Abort(false) // no effect on a full bar
	}
	if d.bars != nil {
		d.bars.Wait()
	}
}
