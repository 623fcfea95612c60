package feed

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Promote makes the generations live, all in one transaction: readers see the old ones until it commits and then the
// new ones, which are at least as far. Number 0 is the newest generation, if it is newer than the live one. The
// previously live one is still fed, for Rollback, until it is retired.
//
// Errors: ErrNoGeneration; domain.Conflict for a generation that is still behind the live one, or behind the log's head
// if the live one is not of this log; domain.Invalid for a version other than this binary's.
func (p *Projector) Promote(ctx context.Context, ids []GenerationID) ([]GenerationID, error) {
	return p.promote(ctx, "promoting", ids, byDefault{
		`not live and generation > coalesce((select generation from feed.generations live
			where live.name = $1 and live.version = $2 and live.live), 0) order by generation desc`, "build one first"})
}

// Rollback makes the generation from before the last promotion live again.
//
// Errors: the errors of Promote.
func (p *Projector) Rollback(ctx context.Context, id GenerationID) (GenerationID, error) {
	ids, err := p.promote(ctx, "rolling back", []GenerationID{id},
		byDefault{"not live and was_live_until is not null order by was_live_until desc", "none was live before"})
	if err != nil {
		return GenerationID{}, err
	}
	return ids[0], nil
}

// byDefault selects the generation of an operation that does not name one.
type byDefault struct {
	condition string
	otherwise string // the reason if there is none
}

func (p *Projector) promote(
	ctx context.Context, what string, ids []GenerationID, choose byDefault,
) ([]GenerationID, error) {
	ids = slices.SortedFunc(slices.Values(ids), func(a, b GenerationID) int { return cmp.Compare(a.Name, b.Name) })
	var promoted []GenerationID
	err := p.operate(ctx, what, func(tx pgx.Tx) error {
		promoted = nil
		var views []string
		for _, id := range ids {
			projection, err := p.ours(id)
			if err != nil {
				return err
			}
			g, err := candidate(ctx, tx, projection, id.Number, choose)
			if err != nil {
				return err
			}
			statements, err := p.swap(ctx, tx, projection, g)
			if err != nil {
				return err
			}
			views = append(views, statements...)
			promoted = append(promoted, g.GenerationID)
		}
		return execTogether(ctx, tx, views) // last: readers wait from here on
	})
	return promoted, err
}

// ours returns the projection of a generation of this binary's version.
func (p *Projector) ours(id GenerationID) (Projection, error) {
	found, err := p.named([]string{id.Name})
	if err != nil {
		return Projection{}, err
	}
	if id.Version != 0 && id.Version != found[0].Version {
		return Projection{}, domain.Refuse(domain.Invalid, fmt.Sprintf(
			"This release feeds version %d of %s: ask a release of version %d", found[0].Version, id.Name, id.Version))
	}
	return found[0], nil
}

func candidate(ctx context.Context, tx pgx.Tx, p Projection, number int, choose byDefault) (generation, error) {
	condition, arguments := "name = $1 and version = $2 and "+choose.condition, []any{p.Name, p.Version}
	if number > 0 {
		condition, arguments = thisGeneration, append(arguments, number)
	}
	g, err := oneGeneration(ctx, tx, condition, arguments...)
	switch {
	case errors.Is(err, pgx.ErrNoRows) && number > 0:
		return generation{}, ErrNoGeneration
	case errors.Is(err, pgx.ErrNoRows):
		return generation{}, domain.Refuse(domain.NotFound, fmt.Sprintf("The read model %s has no generation for that: %s",
			p.Name, choose.otherwise))
	}
	return g, err
}

// swap replaces the live generation by another one, and returns the statements that point the views to it.
func (p *Projector) swap(
	ctx context.Context, tx pgx.Tx, projection Projection, g generation,
) (views []string, err error) {
	live, err := liveGeneration(ctx, tx, projection.Name, projection.Version)
	if err != nil || live.Number == g.Number {
		return nil, err
	}
	if err := p.hold(ctx, tx, live, g); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, `
		update feed.generations set live = false, was_live_until = now()
		where name = $1 and version = $2 and live`, projection.Name, projection.Version); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, "update feed.generations set live = true, promote = false, live_since = now() where "+
		thisGeneration, g.Name, g.Version, g.Number); err != nil {
		return nil, err
	}
	change := otherViews
	if bytes.Equal(live.viewsDigest, viewsDigest(projection, live.Number)) {
		change = sameViews
	}
	return viewStatements(projection, g.Number, change), noteViews(ctx, tx, projection, g.Number)
}

// hold keeps both generations at their positions until the end of the transaction, if the candidate is not behind.
func (p *Projector) hold(ctx context.Context, tx pgx.Tx, live, candidate generation) error {
	least, err := p.leastForPromotion(ctx, tx, live)
	if err != nil {
		return err
	}
	rows, err := tx.Query(ctx, `
		select generation, commit_position, prepare_position from feed.checkpoints
		where name = $1 and version = $2 and generation in ($3, $4) and log_id = $5 and epoch = $6
		order by generation for update`,
		live.Name, live.Version, live.Number, candidate.Number, p.config.Identity.LogID, p.config.Identity.Epoch)
	if err != nil {
		return err
	}
	positions := map[int]eventlog.Position{}
	var number int
	var at eventlog.Position
	_, err = pgx.ForEachRow(rows, []any{&number, &at.Commit, &at.Prepare}, func() error {
		positions[number] = at
		return nil
	})
	if err != nil {
		return err
	}
	if at := positions[candidate.Number]; at.Compare(positions[live.Number]) < 0 || at.Compare(least) < 0 {
		return domain.Refuse(domain.Conflict, fmt.Sprintf(
			"Generation %d of %s is still behind: wait until it has caught up", candidate.Number, live.Name))
	}
	return nil
}

// leastForPromotion returns the minimum position of a candidate in addition to the live generation's: the log's head if
// the live one is not of this log, because its position then has no meaning.
func (p *Projector) leastForPromotion(ctx context.Context, tx pgx.Tx, live generation) (eventlog.Position, error) {
	var ofThisLog bool
	err := tx.QueryRow(ctx, `
		select log_id = $4 and epoch = $5 from feed.checkpoints where `+thisGeneration,
		live.Name, live.Version, live.Number, p.config.Identity.LogID, p.config.Identity.Epoch).Scan(&ofThisLog)
	if err != nil || ofThisLog {
		return eventlog.Start(), err
	}
	ctx, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
	return p.config.Log.Head(ctx)
}
