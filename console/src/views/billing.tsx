import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ApiError, messageOf } from '../api'
import { leftOf, Meter, useSigned } from '../app'
import { billing, enterCard, takeDone, type Change, type Invoice, type Overview, type Product } from '../billing'
import { characters, date, dateTime, fraction, minorOf, money, number, utc } from '../format'
import { announce } from '../live'
import { Choice, Dialog, Empty, Field, Form, Header, Icon, Loaded, Notice, Select, Skeleton, Time, toast,
  useResource } from '../ui'
import { words } from '../words'
import '../styles/billing.css'

const w = words.billing

// Shown is the data of the view, read together.
interface Shown { overview: Overview; products: Product[]; cap: Awaited<ReturnType<typeof billing.cap>> | null }

type Open = { kind: 'change'; to: Product } | { kind: 'cancel' } | { kind: 'cap'; currency: string }

// afterPayment are the delays in milliseconds before looking for a payment's result.
const afterPayment = [500, 1500, 4000]

export function Billing() {
  const [open, setOpen] = useState<Open | null>(null)
  const [error, setError] = useState<unknown>()
  const shown = useResource<Shown>(async () => {
    const [overview, products, cap] =
      await Promise.all([billing.overview(), billing.products(), billing.cap().catch(() => null)])
    return { overview, products, cap }
  }, ['billing'])
  useEffect(() => {
    const done = takeDone()
    if (!done) return
    toast(done === 'pay' ? w.notices.paid : w.notices.registered)
    afterPayment.forEach(wait => setTimeout(() => announce('billing', 'account'), wait))
  }, [])
  const act: Act = async (what, said) => {
    setError(undefined)
    try {
      await what()
      if (said) toast(said)
    } catch (failure) {
      setError(failure)
    }
    announce('billing', 'account', 'usage')
  }
  const close = () => setOpen(null)
  return <>
    <Header title={w.title} lead={w.lead} />
    {error !== undefined && <Notice kind="error">{messageOf(error)}</Notice>}
    <Loaded of={shown} rows={6}>{data => <>
      <Attention {...data} act={act} />
      <Figures {...data} act={act} onOpen={setOpen} />
      <Plans {...data} act={act} onOpen={setOpen} />
      <Invoices invoices={data.overview.invoices} />
      {open?.kind === 'change' && <ChangePlan to={open.to} onClose={close} />}
      {open?.kind === 'cancel' && <Cancel end={data.overview.subscription.current_period_end} onClose={close} />}
      {open?.kind === 'cap' && <SetCap cap={data.cap?.amount ?? null} currency={open.currency} onClose={close} />}
    </>}</Loaded>
  </>
}

// Act carries out an action, and shows its result or failure.
type Act = (what: () => Promise<unknown>, said?: string) => Promise<void>
type Part = Shown & { act: Act; onOpen: (open: Open) => void }

const runs = (overview: Overview) => ['active', 'trialing', 'past_due', 'unpaid'].includes(overview.subscription.status
  ?? '')
const productOf = (products: Product[], price: string | null) => price === null ? undefined : products.find(one =>
  one.price_id === price)
const nameOf = (products: Product[], price: string | null, name?: string | null) => name ?? productOf(products,
  price)?.name ?? w.plan

async function register() {
  const { client_secret: secret } = await billing.newCard()
  enterCard({ purpose: 'register', secret, title: w.registerTitle, amount: null, currency: null })
}

// subscribe opens the page of cards. A subscription without a payment starts immediately.
async function subscribe(price: string, name: string) {
  const { client_secret: secret, amount, currency } = await billing.subscribe(price)
  if (secret) enterCard({ purpose: 'pay', secret, title: w.subscribeTitle(name), amount, currency })
}

// change changes the plan. If the bank asks the card's owner, it opens the page of cards.
async function change(price: string, name: string): Promise<Change | null> {
  try {
    return await billing.change(price)
  } catch (error) {
    if (!(error instanceof ApiError) || !error.clientSecret) throw error
    enterCard({ purpose: 'pay', secret: error.clientSecret, title: w.changeTitle(name), amount: null, currency: null })
    return null
  }
}

// Attention lists what the owner has to do, and upcoming changes.
function Attention({ overview, products, act }: Shown & { act: Act }) {
  const { subscription: s, invoices, other_subscriptions: others } = overview
  const { scheduled_change: next, pending_change: pending } = s
  const name = nameOf(products, s.price_id)
  const unpaid = invoices.find(one => one.status === 'open')
  const n = w.notices
  return <>
    {s.status === 'incomplete' && s.price_id && <Asks kind="warning" text={n.incomplete(name)} does={n.pay}
      run={() => act(() => subscribe(s.price_id!, name))} />}
    {unpaid && s.status !== 'incomplete' && !pending && <Asks kind="error"
      does={overview.payment_method ? n.replaceCard : w.addCard} run={() => act(register)}
      text={s.status === 'past_due' || s.status === 'unpaid'
        ? n.pastDue : n.unpaid(money(unpaid.amount_due - unpaid.amount_paid, unpaid.currency))}>
      <Outside class="button small" address={unpaid.hosted_invoice_url}>{n.openInvoice}</Outside>
    </Asks>}
    {pending && <Asks kind="warning"
      text={n.pending(nameOf(products, pending.price_id, pending.plan_name), dateTime(pending.expires_at))}
      does={n.confirm} run={() =>
        act(() => change(pending.price_id, nameOf(products, pending.price_id, pending.plan_name)))} />}
    {next && <Asks kind="info"
      text={n.scheduled(nameOf(products, next.price_id, next.plan_name), date(next.effective_at))}
      does={n.keepPlan} run={() => act(billing.keepPlan, w.kept)} />}
    {s.cancel_at_period_end && s.current_period_end !== null && <Asks kind="warning"
      text={n.ending(date(s.current_period_end))}
      does={n.resume} run={() => act(billing.resume, w.resumed)} />}
    {others.map(one => <Asks key={one.subscription_id} kind="warning"
      text={n.second(one.amount === null || !one.currency ? words.unknown : money(one.amount, one.currency),
        date(one.current_period_end))} />)}
  </>
}

function Asks({ kind, text, does, run, children }: {
  kind: 'info' | 'warning' | 'error'; text: string; does?: string; run?: () => Promise<void>
  children?: ComponentChildren
}) {
  const [busy, setBusy] = useState(false)
  return <div class={`notice asks ${kind}`} role={kind === 'info' ? 'status' : 'alert'}>
    <span>{text}</span>
    <div class="actions">
      {children}
      {run && <button class="button small" disabled={busy} aria-busy={busy}
        onClick={async () => { setBusy(true); await run(); setBusy(false) }}>{does}</button>}
    </div>
  </div>
}

// Outside is a link to the payment provider.
function Outside({ address, label, class: kind = '', children }: {
  address: string | null; label?: string; class?: string; children: string
}) {
  if (!address || !/^https?:\/\//.test(address)) return null
  return <a class={kind} href={address} target="_blank" rel="noopener noreferrer" aria-label={label}>{children}</a>
}

function Figures({ overview, products, cap, act, onOpen }: Part) {
  const { account: { data: account } } = useSigned()
  const { subscription: s, payment_method: card } = overview
  const paid = runs(overview)
  const product = paid ? productOf(products, s.price_id) : undefined
  const left = account ? leftOf(account) : null
  const currency = cap?.currency ?? (product?.additional_unit_cost ? product.currency : null)
  return <dl class="figures billing-figures">
    <div class="card">
      <dt>{w.plan}</dt>
      <dd>{product?.name ?? words.usage.plans[account?.plan.type ?? ''] ?? account?.plan.type ?? words.none}</dd>
      <dd class="detail"><small>
        {paid && s.amount !== null && s.currency !== null && <>{w.aMonth(money(s.amount, s.currency))}<br /></>}
        {paid && s.current_period_end !== null
          ? <span title={utc(s.current_period_end)}>
            {(s.cancel_at_period_end ? w.endsOn : w.renews)(date(s.current_period_end))}</span>
          : account?.usage.period_end && <span title={utc(account.usage.period_end)}>
            {w.periodEnds(date(account.usage.period_end))}</span>}
      </small></dd>
    </div>
    {account && <div class="card">
      <dt>{w.left}</dt>
      <dd>{left === null ? w.unlimited : number(left)}</dd>
      <dd class="detail">
        {account.plan.character_limit !== null && <Meter value={account.plan.character_limit - Math.min(left!,
          account.plan.character_limit)} max={account.plan.character_limit} />}
        {account.plan.character_limit !== null && <small>{w.ofLimit(characters(account.plan.character_limit))}</small>}
        {account.usage.credit_characters > 0 && <small>
          <br />{w.credit(characters(account.usage.credit_characters))}</small>}
      </dd>
    </div>}
    {(paid || card) && <div class="card">
      <dt>{w.card}</dt>
      <dd class="acts">{card ? <bdi class="brand-name">{w.cardOf(card.brand, card.last4)}</bdi> : w.noCard}
        <Busy run={() => act(register)}>{card ? w.replaceCard : w.addCard}</Busy></dd>
      <dd class="detail"><small>{card && w.cardHint}</small></dd>
    </div>}
    {currency && <div class="card">
      <dt>{w.cap}</dt>
      <dd class="acts">{cap?.amount != null ? money(cap.amount, currency) : w.noCap}
        <button class="button small" aria-label={`${w.editCap}: ${w.cap}`}
          onClick={() => onOpen({ kind: 'cap', currency })}>{w.editCap}</button></dd>
      <dd class="detail"><small>{cap?.spent != null ? w.capSpent(money(cap.spent, currency)) : w.capHint}</small></dd>
    </div>}
  </dl>
}

// Busy is a button that is disabled while its action runs.
function Busy({ run, class: kind = 'button small', children }: {
  run: () => Promise<unknown>; class?: string; children: string
}) {
  const [busy, setBusy] = useState(false)
  return <button class={kind} disabled={busy} aria-busy={busy}
    onClick={async () => { setBusy(true); await run(); setBusy(false) }}>
    {busy && <span class="spinner" />}{children}
  </button>
}

function Plans({ overview, products, act, onOpen }: Part) {
  const { account: { data: account } } = useSigned()
  const s = overview.subscription
  const paid = runs(overview)
  const currencies = [...new Set(products.flatMap(one => one.currency ?? []))]
  const [chosen, setChosen] = useState('')
  const currency = (paid && s.currency) || chosen || currencies[0]
  if (currencies.length === 0)
    return <section><h2>{w.plans}</h2><div class="card"><Empty icon="billing" title={w.noPlans} /></div></section>
  const offered = products.filter(one => one.price_id === null || one.currency === currency)
  const isCurrent = (one: Product) => one.price_id === null ? !paid && account?.plan.type === 'free' : paid
    && one.price_id === s.price_id
  return <section aria-labelledby="plans">
    <header class="section-header">
      <h2 id="plans">{w.plans}</h2>
      {!paid && currencies.length > 1 && <Select label={w.currency} value={currency!}
        options={currencies.map(one => [one, one.toUpperCase()])} onChange={setChosen} />}
    </header>
    <ul class="plans">
      {offered.map(one => <li key={one.price_id ?? ''} class={`card ${isCurrent(one) ? 'current' : ''}`}>
        <h3><bdi>{one.name}</bdi></h3>
        <p class="price">{money(one.amount, currency!)} <small>{w.perMonth}</small></p>
        <ul class="points-of">
          <li><Icon name="check" />
            {one.char_limit === null ? w.allIncluded : w.included(characters(one.char_limit))}</li>
          {one.char_limit !== null && <li><Icon name="check" />{past(one)}</li>}
        </ul>
        <PlanAction of={one} {...{ overview, act, onOpen }} current={isCurrent(one)} />
      </li>)}
    </ul>
  </section>
}

function past(one: Product): string {
  if (!one.additional_unit_cost || !one.chars_per_unit || !one.currency) return w.pastEnds
  return w.past(fraction(one.additional_unit_cost, one.currency), characters(one.chars_per_unit))
}

function PlanAction({ of, overview, current, act, onOpen }: Omit<Part,
  'products' | 'cap'> & { of: Product; current: boolean }) {
  const s = overview.subscription
  const paid = runs(overview)
  const next = s.scheduled_change
  if (current) {
    return <div class="plan-action"><span class="badge good">{w.current}</span></div>
  }
  if (of.price_id === null) {
    if (!paid) return null
    if (s.cancel_at_period_end)
      return <div class="plan-action"><span class="badge">{w.from(date(s.current_period_end!))}</span></div>
    return <div class="plan-action"><button class="button danger-text"
      onClick={() => onOpen({ kind: 'cancel' })}>{w.cancel}</button></div>
  }
  if (next?.price_id === of.price_id)
    return <div class="plan-action"><span class="badge">{w.from(date(next.effective_at))}</span></div>
  if (!paid) {
    return <div class="plan-action"><Busy class="button primary"
      run={() => act(() => subscribe(of.price_id!, of.name))}>{w.subscribe(of.name)}</Busy></div>
  }
  const dearer = of.amount > (s.amount ?? 0)
  return <div class="plan-action"><button class={`button ${dearer ? 'primary' : ''}`}
    onClick={() => onOpen({ kind: 'change', to: of })}>
    {(dearer ? w.upgrade : w.downgrade)(of.name)}</button></div>
}

// ChangePlan shows the cost of a change before it is made.
function ChangePlan({ to, onClose }: { to: Product; onClose: () => void }) {
  const preview = useResource(() => billing.preview(to.price_id!), [])
  const confirm = async () => {
    const made = await change(to.price_id!, to.name)
    announce('billing', 'account', 'usage')
    if (!made) return
    onClose()
    toast(made.kind === 'upgraded' ? w.changed(to.name) : w.scheduled(to.name, date(made.effective_at)))
  }
  const due = preview.data?.preview
  const charged = preview.data?.kind === 'upgraded' && due
  return <Dialog title={w.changeTitle(to.name)} onClose={onClose}>
    {preview.data === undefined ? preview.error === undefined
      ? <><p class="faint" role="status">{w.previewing}</p><Skeleton rows={3} /></>
      : <Notice kind="error" onRetry={preview.reload}>{messageOf(preview.error)}</Notice>
      : <Form submit={charged ? w.confirmCharge(money(due.amount_due, due.currency)) : w.confirmLater}
        onCancel={onClose} action={confirm}>
        <p>{charged ? w.beginsNow(to.name, money(to.amount, to.currency!))
          : w.beginsLater(to.name, date(preview.data.effective_at), money(to.amount, to.currency!))}</p>
        {charged ? <dl class="preview">
          {due.lines.map((line, i) => <div key={i}><dt><bdi>{line.description}</bdi></dt>
            <dd>{money(line.amount, due.currency)}</dd></div>)}
          <div class="sum"><dt>{w.chargedNow}</dt><dd>{money(due.amount_due, due.currency)}</dd></div>
        </dl> : <p class="faint">{w.nothingNow}</p>}
      </Form>}
  </Dialog>
}

function Cancel({ end, onClose }: { end: number | null; onClose: () => void }) {
  const when = end === null ? words.unknown : date(end)
  return <Dialog title={w.cancelTitle} onClose={onClose}>
    <Form submit={w.cancel} danger onCancel={onClose} action={async () => {
      await billing.cancel()
      announce('billing', 'account')
      onClose()
      toast(w.cancelled(when))
    }}><p>{w.cancelLead(when)}</p></Form>
  </Dialog>
}

function SetCap({ cap, currency, onClose }: { cap: number | null; currency: string; onClose: () => void }) {
  const [on, setOn] = useState<'on' | 'off'>(cap === null ? 'off' : 'on')
  const [text, setText] = useState(cap === null ? '' : String(cap / minorOf(currency)))
  const amount = Math.round(Number(text.replace(',', '.')) * minorOf(currency))
  const wrong = on === 'on' && (text.trim() === '' || !Number.isSafeInteger(amount) || amount < 0)
  return <Dialog title={w.capTitle} onClose={onClose}>
    <Form submit={words.save} disabled={wrong} onCancel={onClose} action={async () => {
      await billing.setCap(on === 'on' ? amount : null)
      announce('billing', 'usage')
      onClose()
      toast(w.capSaved)
    }}>
      <p>{w.capLead}</p>
      <Choice label={w.capTitle} value={on} onChange={setOn} options={[['on', w.capOn], ['off', w.capOff]]} />
      {on === 'on' && <Field label={w.capAmount(currency.toUpperCase())} {...(wrong && text !== ''
        && { hint: w.capWrong })}>
        <input inputMode="decimal" autocomplete="off" maxLength={12} value={text} aria-invalid={wrong && text !== ''}
          onInput={e => setText(e.currentTarget.value)} />
      </Field>}
    </Form>
  </Dialog>
}

function Invoices({ invoices }: { invoices: Invoice[] }) {
  return <section aria-labelledby="invoices">
    <h2 id="invoices">{w.invoices}</h2>
    {invoices.length === 0 ? <div class="card"><Empty icon="billing" title={w.noInvoices}
      lead={w.noInvoicesLead} /></div>
      : <div class="table stack" tabIndex={0} role="group" aria-label={w.invoices}>
        <table>
          <thead><tr><th>{w.number}</th><th>{w.date}</th><th>{w.status}</th><th class="end">{w.amount}</th>
            <th class="end"><span class="hidden">{w.documents}</span></th></tr></thead>
          <tbody>{invoices.map(one => <Row key={one.id} invoice={one} />)}</tbody>
        </table>
      </div>}
  </section>
}

function Row({ invoice: one }: { invoice: Invoice }) {
  const named = one.number ?? one.id
  const good = one.status === 'paid', bad = one.status === 'open' || one.status === 'uncollectible'
  return <tr>
    <th scope="row"><bdi class="name">{named}</bdi></th>
    <td><Time at={one.created} /></td>
    <td class="badges"><span class={`badge ${good ? 'good' : bad ? 'bad' : ''}`}>{w.states[one.status ?? '']
      ?? one.status ?? words.unknown}</span>
      {one.amount_refunded > 0 && <span class="badge">{w.refunded(money(one.amount_refunded, one.currency))}</span>}
      {one.dispute && <span class={`badge ${one.dispute.status === 'won' ? '' : 'bad'}`}>{w.dispute[one.dispute.status]
        ?? one.dispute.status}</span>}</td>
    <td class="end">{money(good ? one.amount_paid : one.amount_due, one.currency)}</td>
    <td class="end">
      <Outside class="button small" address={one.hosted_invoice_url} label={w.viewOf(named)}>{w.view}</Outside>
      <Outside class="button small" address={one.invoice_pdf} label={w.pdfOf(named)}>{w.pdf}</Outside>
    </td>
  </tr>
}
