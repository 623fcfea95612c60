package progress

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

const (
	wholeBar = 10_000 // maximum of a bar
	barWidth = 40     // in columns, if there are as many
)

// refresh is the interval at which bars are drawn.
const refresh = 200 * time.Millisecond

// Bars draws a bar for each generation on a terminal.
type Bars struct {
	bars     *mpb.Progress
	byTitle  map[string]*mpb.Bar
	mu       sync.Mutex
	statuses map[string]Status
}

// NewBars returns Bars that are drawn on a terminal until Close.
func NewBars(screen *os.File) *Bars {
	return &Bars{
		bars:     mpb.New(mpb.WithOutput(screen), mpb.WithRefreshRate(refresh)),
		byTitle:  map[string]*mpb.Bar{},
		statuses: map[string]Status{},
	}
}

// Show implements Display.
func (b *Bars) Show(all []Status) {
	for _, status := range all {
		title := status.Title()
		b.mu.Lock()
		b.statuses[title] = status
		b.mu.Unlock()
		bar := b.byTitle[title]
		if bar == nil {
			bar = b.add(title)
			b.byTitle[title] = bar
		}
		bar.SetCurrent(min(int64(status.Share*wholeBar), wholeBar-1)) // a full bar cannot change any more
		switch {
		case status.Done:
			bar.SetTotal(wholeBar, true)
		case status.Failed:
			bar.Abort(false)
		}
	}
}

func (b *Bars) add(title string) *mpb.Bar {
	details := func(decor.Statistics) string {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.statuses[title].details()
	}
	return b.bars.AddBar(wholeBar,
		mpb.BarWidth(barWidth),
		mpb.PrependDecorators(decor.Name(title, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.Any(details)),
	)
}

// Note implements Display: the text is printed above the bars.
func (b *Bars) Note(text string) { fmt.Fprintln(b.bars, text) }

// Close implements Display.
func (b *Bars) Close() {
	for _, bar := range b.byTitle {
		bar.Abort(false) // no effect on a full one
	}
	b.bars.Wait()
}
