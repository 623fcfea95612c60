package sandbox

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/store"
)

// listing is a page of objects.
type listing struct {
	Object  string `json:"object"`
	URL     string `json:"url"`
	HasMore bool   `json:"has_more"`
	Data    []any  `json:"data"`
}

func newListing(url string) *listing { return &listing{Object: "list", URL: url, Data: []any{}} }

const (
	usualPage = 10
	fullPage  = 100
)

// page returns the page of objects that a request wants: those of an owner, or all if owner is "", that match.
func page[T any, P kept[T]](w *work, owner string, match func(P) bool) (any, error) {
	limit := int(w.form.Int("limit", usualPage))
	after, before := w.form.String("starting_after"), w.form.String("ending_before")
	if limit < 1 || limit > fullPage {
		return nil, invalid("parameter_invalid_integer", "limit", "Invalid limit: must be between 1 and %d", fullPage)
	}
	if err := w.known(owner); err != nil {
		return nil, err
	}
	kind := P(new(T)).kind()
	for _, id := range []string{after, before} {
		if id == "" {
			continue
		}
		if _, err := find[T, P](w, id); err != nil {
			return nil, err
		}
	}
	all := newListing("/v1/" + nameOf(kind) + "s")
	for raw, err := range w.tx.List(kind, owner, keyOf(kind, after)) {
		if err != nil {
			return nil, err
		}
		o := P(new(T))
		if err := json.Unmarshal(raw, o); err != nil {
			return nil, err
		}
		if before != "" && o.Key() == keyOf(kind, before) {
			break
		}
		if !match(o) {
			continue
		}
		all.Data = append(all.Data, o)
		if before == "" && len(all.Data) > limit {
			break
		}
	}
	if all.HasMore = len(all.Data) > limit; !all.HasMore {
		return all, nil
	}
	if before != "" { // those next to it
		all.Data = slices.Clone(all.Data[len(all.Data)-limit:])
	} else {
		all.Data = all.Data[:limit]
	}
	return all, nil
}

// known returns a problem if there is no owner of a list.
func (w *work) known(owner string) error {
	if owner == "" {
		return nil
	}
	kind, _, _ := strings.Cut(owner, "_")
	_, err := w.tx.Raw(owner)
	if errors.Is(err, store.ErrNotFound) {
		return w.missing(kind, owner)
	}
	return err
}

// created returns the filter of a request by the time of creation.
func (w *work) created() func(unix) bool {
	f := w.form.Sub("created")
	exactly := w.form.Int("created", 0)
	gt, gte, lt, lte := f.Int("gt", 0), f.Int("gte", 0), f.Int("lt", 0), f.Int("lte", 0)
	return func(u unix) bool {
		t := int64(u)
		return (exactly == 0 || t == exactly) && (gt == 0 || t > gt) && (gte == 0 || t >= gte) &&
			(lt == 0 || t < lt) && (lte == 0 || t <= lte)
	}
}
