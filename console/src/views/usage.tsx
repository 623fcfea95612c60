import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { api, type Account, type Day, type Key, type KeyUsage, type Period } from '../api'
import { billing } from '../billing'
import { leftOf, Meter, useSigned } from '../app'
import { characters, csv, date, day, minorOf, money, number, save, utc } from '../format'
import { Plot, type Bar } from '../plot'
import { Choice, Empty, Header, Icon, Loaded, Select, Time, useResource } from '../ui'
import { words } from '../words'

const w = words.usage

// cap is the spending cap. A plan without billing beyond its characters has none.
const cap = () => api.cap().catch(() => null)

export function Usage() {
  const { account } = useSigned()
  const history = useResource(async () => {
    const [days, periods, keys, spending] = await Promise.all([api.days(), api.periods(), api.keyUsage(), cap()])
    return { days, periods, keys, spending, pastCap: await charactersOf(spending) }
  }, ['usage', 'billing'])
  return <>
    <Header title={w.title} lead={w.lead} />
    <Loaded of={account} rows={2}>
      {shown => <Figures account={shown} spending={history.data?.spending ?? null} />}
    </Loaded>
    <Loaded of={history} rows={5}>
      {({ days, periods, keys, pastCap }) => days.length === 0
        ? <Empty icon="usage" title={w.none} lead={w.noneLead} />
        : <History days={days} periods={periods} keys={<ByKey used={keys} known={account.data?.apikeys ?? []} />}
          limit={account.data?.plan.character_limit ?? null}
          pastCap={pastCap} credit={account.data?.usage.credit_characters ?? 0} />}
    </Loaded>
  </>
}

// charactersOf returns the number of characters beyond the plan that a spending cap permits, or null without a cap.
async function charactersOf(spending: Spending): Promise<number | null> {
  if (spending?.amount == null || !spending.currency) return null
  const [{ subscription }, products] = await Promise.all([billing.overview(), billing.products()])
  const { additional_unit_cost: cost, chars_per_unit: unit } =
    products.find(one => one.price_id === subscription.price_id) ?? {}
  if (!cost || !unit) return null
  return Math.floor(spending.amount / minorOf(spending.currency) / cost + 1e-9) * unit
}

type Spending = Awaited<ReturnType<typeof cap>>

function Figures({ account, spending }: { account: Account; spending: Spending }) {
  const { plan, usage } = account
  const used = usage.characters + usage.playground_characters
  const left = leftOf(account)
  return <dl class="figures">
    <div class="card">
      <dt>{w.used}</dt>
      <dd>{number(used)} <small>{plan.character_limit === null
        ? w.unlimited : w.limit(characters(plan.character_limit))}</small></dd>
      <dd class="detail">{plan.character_limit !== null && <Meter value={used} max={plan.character_limit} />}
        <small><span class="dot api" />{w.api} {number(usage.characters)} <span class="dot browser" />
          {w.browser} {number(usage.playground_characters)}</small>
      </dd>
    </div>
    <div class="card">
      <dt>{w.left}</dt>
      <dd>{left === null ? w.unlimited : <>{number(left)} <small>{w.unit(left)}</small></>}</dd>
      {usage.credit_characters > 0 && <dd class="detail">
        <small>{w.credit}: {characters(usage.credit_characters)}. {w.creditHint}.</small></dd>}
    </div>
    <div class="card">
      <dt>{w.plan}</dt>
      <dd>{w.plans[plan.type] ?? plan.type}</dd>
      {usage.period_end !== null && <dd class="detail">
        <small title={utc(usage.period_end)}>{w.until(date(usage.period_end))}</small></dd>}
    </div>
    {spending?.currency && <div class="card">
      <dt>{w.cap}</dt>
      <dd>{spending.amount === null ? w.noCap : money(spending.amount, spending.currency)}</dd>
      {spending.spent !== null && <dd class="detail">
        <small>{w.capSpent(money(spending.spent, spending.currency))}</small></dd>}
    </div>}
  </dl>
}

type By = 'day' | 'period'

function History({ days, periods, keys, limit, pastCap, credit }: {
  days: Day[]; periods: Period[]; keys: ComponentChildren; limit: number | null; pastCap: number | null; credit: number
}) {
  const [by, setBy] = useState<By>('day')
  const [span, setSpan] = useState('30')
  const label = w.plot((by === 'day' ? w.byDay : w.byPeriod).toLowerCase())
  const bars = by === 'day' ? dailyBars(days, Number(span)) : periodBars(periods)
  return <>
    <section class="card plot-card" aria-label={label}>
      <header>
        <h2>{label}</h2>
        <div class="actions">
          <Choice label={w.by} value={by} onChange={setBy} options={[['day', w.byDay], ['period', w.byPeriod]]} />
          {by === 'day' && <Select label={w.span} value={span} onChange={setSpan}
            options={['30', '90', '366'].map(n => [n, w.days(Number(n))])} />}
        </div>
      </header>
      <Plot key={by + span} bars={bars} label={label} limit={by === 'period' ? limit : null}
        cap={by === 'period' && limit !== null && pastCap !== null ? limit + credit + pastCap : null} />
    </section>
    {keys}
    <Table by={by} bars={bars} />
  </>
}

// dailyBars returns the last days, including those without usage.
function dailyBars(days: Day[], span: number): Bar[] {
  const used = new Map(days.map(one => [one.day, one]))
  const today = Date.parse(new Date().toISOString().slice(0, 10))
  return Array.from({ length: span }, (_, i) => {
    const iso = new Date(today - (span - 1 - i) * 86_400_000).toISOString().slice(0, 10)
    const one = used.get(iso)
    return { label: day(iso), full: day(iso, 'full'), key: iso, api: one?.api_chars_used ?? 0,
      browser: one?.playground_chars_used ?? 0 }
  })
}

function periodBars(periods: Period[]): Bar[] {
  return periods.slice(0, 24).reverse().map(one => ({
    label: date(one.period_end),
    full: `${w.plans[one.plan] ?? one.plan}, ${w.until(date(one.period_end)).toLowerCase()}`,
    key: String(one.period_end), api: one.chars_used, browser: one.playground_chars_used,
  }))
}

function Table({ by, bars }: { by: By; bars: Bar[] }) {
  const rows = bars.filter(bar => by === 'period' || bar.api + bar.browser > 0).reverse()
  const head = by === 'day' ? w.day : w.ends
  const named = (bar: Bar) => by === 'day' ? bar.key : new Date(Number(bar.key) * 1000).toISOString()
  const lines = rows.map(bar => [named(bar), bar.api, bar.browser, bar.api + bar.browser])
  return <Downloadable title={w.table} file={`usage-by-${by}.csv`}
    lines={[[head, w.api, w.browser, w.total], ...lines]}>
    <thead><tr><th>{head}</th><th class="end">{w.api}</th><th class="end">{w.browser}</th>
      <th class="end">{w.total}</th></tr></thead>
    <tbody>
      {rows.map(bar => <tr key={bar.key}>
        <th scope="row">{by === 'day' ? bar.full : <Time at={Number(bar.key)} />}</th>
        <td class="end">{number(bar.api)}</td><td class="end">{number(bar.browser)}</td>
        <td class="end">{characters(bar.api + bar.browser)}</td>
      </tr>)}
    </tbody>
  </Downloadable>
}

function ByKey({ used, known }: { used: KeyUsage[]; known: Key[] }) {
  if (used.length === 0) return null
  const nameOf = (masked: string) => {
    const key = known.find(one => one.masked === masked)
    return key ? key.name ?? w.unnamed : w.revoked
  }
  const lines = used.map(one => [nameOf(one.api_key), one.api_key, one.last_day, one.chars_used])
  return <Downloadable title={w.byKey} file="usage-by-key.csv"
    lines={[[w.key, w.masked, w.lastDay, w.total], ...lines]}>
    <thead><tr><th>{w.key}</th><th>{w.masked}</th><th>{w.lastDay}</th><th class="end">{w.total}</th></tr></thead>
    <tbody>
      {used.map(one => <tr key={one.api_key}>
        <th scope="row"><bdi>{nameOf(one.api_key)}</bdi></th><td><code>{one.api_key}</code></td>
        <td>{day(one.last_day, 'full')}</td><td class="end">{characters(one.chars_used)}</td>
      </tr>)}
    </tbody>
  </Downloadable>
}

// Downloadable is a table with a CSV download.
function Downloadable({ title, file, lines, children }: {
  title: string; file: string; lines: (string | number)[][]; children: ComponentChildren
}) {
  const download = () => save(new Blob([csv(lines)], { type: 'text/csv' }), file)
  return <section>
    <header class="section-header">
      <h2>{title}</h2>
      <button class="button small" onClick={download}><Icon name="download" />{w.csv}</button>
    </header>
    <div class="table" tabIndex={0} role="group" aria-label={title}><table>{children}</table></div>
  </section>
}
