package stripe

import (
	"context"
	"fmt"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// ScheduleChange implements payments.Gateway. The provider keeps a schedule for the subscription, with the current
// phase and the next one. After that the subscription continues without it.
func (g *Gateway) ScheduleChange(
	ctx context.Context, a payments.Attempt, subscription, price string,
) (payments.Subscription, error) {
	s, err := g.withSchedule(ctx, a, subscription)
	if err != nil {
		return payments.Subscription{}, err
	}
	return g.changed(ctx, a, subscription, change[stripe.Subscription]{
		step: fmt.Sprintf("phases/%d", itemOf(s).CurrentPeriodEnd),
		made: func(now *stripe.Subscription) bool {
			next := scheduled(now)
			return next != nil && next.Price == price
		},
		make: func(params stripe.Params, now *stripe.Subscription) (*stripe.Subscription, error) {
			update := &stripe.SubscriptionScheduleUpdateParams{
				Params: params, EndBehavior: stripe.String(string(stripe.SubscriptionScheduleEndBehaviorRelease)),
				ProrationBehavior: stripe.String("none"), Phases: phases(s, price), Metadata: map[string]string{metaChange: a.ID},
			}
			if s.DefaultPaymentMethod != nil {
				update.DefaultSettings = paidWith(s.DefaultPaymentMethod.ID)
			}
			updated, err := g.api.V1SubscriptionSchedules.Update(ctx, s.Schedule.ID, update)
			return rescheduled(now, updated, err)
		},
	})
}

// withSchedule returns a subscription that has a schedule.
func (g *Gateway) withSchedule(
	ctx context.Context, a payments.Attempt, subscription string,
) (*stripe.Subscription, error) {
	err := g.change(ctx, a, subscription, change[stripe.Subscription]{
		step: "schedule",
		made: isScheduled,
		make: func(params stripe.Params, now *stripe.Subscription) (*stripe.Subscription, error) {
			created, err := g.api.V1SubscriptionSchedules.Create(ctx, &stripe.SubscriptionScheduleCreateParams{
				Params: params, FromSubscription: &subscription,
			})
			return rescheduled(now, created, err)
		},
	})
	if err != nil {
		return nil, err
	}
	s, err := g.subscription(ctx, subscription)
	if err == nil && !isScheduled(s) {
		return nil, payments.ErrUnavailable
	}
	return s, err
}

// paidWith sets the payment method from the next phase on. Without it the subscription might fall back to the
// customer's, which a first payment does not set.
func paidWith(paymentMethod string) *stripe.SubscriptionScheduleUpdateDefaultSettingsParams {
	return &stripe.SubscriptionScheduleUpdateDefaultSettingsParams{DefaultPaymentMethod: &paymentMethod}
}

// phases returns the current phase unchanged, followed by a month at the new price.
func phases(s *stripe.Subscription, price string) []*stripe.SubscriptionScheduleUpdatePhaseParams {
	item := itemOf(s)
	start, end, now := item.CurrentPeriodStart, item.CurrentPeriodEnd, priceOf(s)
	var discounts []*stripe.SubscriptionScheduleUpdatePhaseDiscountParams
	if running := phase(s.Schedule); running != nil {
		start = running.StartDate
		for _, d := range running.Discounts {
			if d.Discount != nil {
				discounts = append(discounts, &stripe.SubscriptionScheduleUpdatePhaseDiscountParams{Discount: &d.Discount.ID})
			}
		}
	}
	return []*stripe.SubscriptionScheduleUpdatePhaseParams{
		{
			Items:     []*stripe.SubscriptionScheduleUpdatePhaseItemParams{{Price: &now, Quantity: stripe.Int64(1)}},
			StartDate: &start, EndDate: &end, Discounts: discounts,
		},
		{
			Items: []*stripe.SubscriptionScheduleUpdatePhaseItemParams{{Price: &price, Quantity: stripe.Int64(1)}},
			Duration: &stripe.SubscriptionScheduleUpdatePhaseDurationParams{
				Interval: stripe.String("month"), IntervalCount: stripe.Int64(1),
			},
			Discounts: discounts, ProrationBehavior: stripe.String("none"),
		},
	}
}

// phase returns the current phase of a schedule.
func phase(schedule *stripe.SubscriptionSchedule) *stripe.SubscriptionSchedulePhase {
	if schedule == nil || schedule.CurrentPhase == nil {
		return nil
	}
	for _, p := range schedule.Phases {
		if p.StartDate == schedule.CurrentPhase.StartDate {
			return p
		}
	}
	return nil
}

// DropScheduledChange implements payments.Gateway.
func (g *Gateway) DropScheduledChange(
	ctx context.Context, a payments.Attempt, subscription string,
) (payments.Subscription, error) {
	return g.changed(ctx, a, subscription, g.release(ctx))
}

// release returns the change that drops the schedule.
func (g *Gateway) release(ctx context.Context) change[stripe.Subscription] {
	return change[stripe.Subscription]{
		step: "release",
		made: func(s *stripe.Subscription) bool { return !isScheduled(s) },
		make: func(params stripe.Params, now *stripe.Subscription) (*stripe.Subscription, error) {
			released, err := g.api.V1SubscriptionSchedules.Release(ctx, now.Schedule.ID,
				&stripe.SubscriptionScheduleReleaseParams{Params: params})
			return rescheduled(now, released, err)
		},
	}
}

// rescheduled returns a subscription with the schedule from a response, or unchanged if the response may be out of
// date.
func rescheduled(
	before *stripe.Subscription, schedule *stripe.SubscriptionSchedule, err error,
) (*stripe.Subscription, error) {
	if err != nil || isReplayed(schedule.LastResponse) {
		return before, err
	}
	after := *before
	if after.Schedule = schedule; schedule.Status == stripe.SubscriptionScheduleStatusReleased {
		after.Schedule = nil
	}
	return &after, nil
}

func isScheduled(s *stripe.Subscription) bool { return s.Schedule != nil }

// scheduled returns the change that follows the period.
func scheduled(s *stripe.Subscription) *payments.ScheduledChange {
	if !isScheduled(s) || hasEnded(s) {
		return nil
	}
	for _, p := range s.Schedule.Phases {
		if p.StartDate < itemOf(s).CurrentPeriodEnd || len(p.Items) == 0 || p.Items[0].Price == nil {
			continue
		}
		if next := p.Items[0].Price.ID; next != priceOf(s) {
			return &payments.ScheduledChange{Price: next, EffectiveAt: at(p.StartDate)}
		}
	}
	return nil
}
