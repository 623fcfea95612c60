// Accounts: searching by id or e-mail address, viewing one, and operators' actions on it.
import { useEffect, useState } from 'preact/hooks'
import { characters, number, unix } from '../format'
import { Empty, Field, Form, Header, Icon, Loaded, Time, useResource } from '../ui'
import { words as shared } from '../words'
import { api, type Account, type Erasure, type Listed } from './api'
import { useChanges, usePlace } from './app'
import { AccountLink, Act, Facts, More, Reason, SectionHeader, State, Table } from './parts'
import { words } from './words'

const w = words.accounts

export function Accounts() {
  const { view, id } = usePlace()
  return view === 'accounts' && id ? <One key={id} id={id} /> : <Find />
}

function Find() {
  const [id, setID] = useState('')
  const [found, setFound] = useState<Listed[]>()
  return <>
    <Header title={w.title} lead={w.lead} />
    <div class="pair">
      <section class="card">
        <h2>{w.byID}</h2>
        <Form submit={w.open} disabled={!id.trim()}
          action={async () => { location.hash = `/accounts/${encodeURIComponent(id.trim())}` }}>
          <Field label={w.id}><input value={id} maxLength={64} autocomplete="off" spellcheck={false}
            onInput={e => setID(e.currentTarget.value)} /></Field>
        </Form>
      </section>
      <ByEmail onFound={setFound} />
    </div>
    {found && <section aria-labelledby="found">
      <SectionHeader id="found" title={w.found}><button class="button small"
        onClick={() => setFound(undefined)}>{shared.clear}</button></SectionHeader>
      {found.length === 0 ? <Empty icon="accounts" title={w.noneFound}
        lead={w.noneFoundLead} /> : <List accounts={found} label={w.found} />}
    </section>}
    <All />
  </>
}

function ByEmail({ onFound }: { onFound: (found: Listed[]) => void }) {
  const [email, setEmail] = useState('')
  const [reason, setReason] = useState('')
  return <section class="card">
    <h2>{w.byEmail}</h2>
    <Form submit={w.find} disabled={!email.trim() || !reason.trim()}
      action={async () => onFound(await api.accountsOf(email.trim(), reason.trim()))}>
      <Field label={w.email}><input type="email" value={email} maxLength={320} autocomplete="off"
        onInput={e => setEmail(e.currentTarget.value)} /></Field>
      <Reason value={reason} onChange={setReason} needed hint={w.lookUpHint} />
    </Form>
  </section>
}

function All() {
  const first = useResource(() => api.accounts(''), ['operators'])
  const [more, setMore] = useState<{ accounts: Listed[]; next: string | null }>()
  return <section aria-labelledby="all">
    <SectionHeader id="all" title={w.all} lead={w.allLead} />
    <Loaded of={first} rows={5}>{page => {
      const next = more ? more.next : page.next_page_token
      if (page.accounts.length === 0) return <Empty icon="accounts" title={w.none} />
      return <>
        <List accounts={[...page.accounts, ...more?.accounts ?? []]} label={w.all} />
        {next && <More action={async () => {
          const following = await api.accounts(next)
          setMore(old => ({ accounts: [...old?.accounts ?? [], ...following.accounts],
            next: following.next_page_token }))
        }} />}
      </>
    }}</Loaded>
  </section>
}

function List({ accounts, label }: { accounts: Listed[]; label: string }) {
  return <Table label={label} head={[w.id, w.plan, w.role, w.opened]}>
    {accounts.map(one => <tr key={one.account_id}>
      <th scope="row"><AccountLink id={one.account_id} /></th>
      <td>{words.plans[one.plan] ?? one.plan}{one.subscribed && <small> · {w.subscribed}</small>}</td>
      <td>{one.operator ? <span class="badge">{w.operator}</span> : words.nothing}</td>
      <td><Time at={unix(one.opened_at)} /></td>
    </tr>)}
  </Table>
}

type Open = 'credit' | 'operator' | null

function One({ id }: { id: string }) {
  const changes = useChanges()
  const account = useResource(() => api.account(id), ['operators'])
  const erasure = useResource(() => api.erasure(id), ['operators'])
  const [open, setOpen] = useState<Open>(null)
  useEffect(() => { document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true }) }, [])
  const isOperator = account.data?.operator ?? false
  return <>
    <a class="back" href="#/accounts"><Icon name="chevron" />{w.back}</a>
    <Header title={w.one} lead={id}>
      <a class="button" href={`#/log/${encodeURIComponent(id)}`}>{w.life}</a>
      {changes && account.data?.state === 'open' && <>
        <button class="button" onClick={() => setOpen('operator')}>{isOperator ? w.withdraw : w.grantRole}</button>
        <button class="button primary" onClick={() => setOpen('credit')}>{w.grantCredit}</button>
      </>}
    </Header>
    <Loaded of={account} rows={6}>{found => <AccountFacts of={found} />}</Loaded>
    <section aria-labelledby="erasure">
      <SectionHeader id="erasure" title={w.erasure} />
      <Loaded of={erasure} rows={2}>{found => <ErasureFacts of={found} />}</Loaded>
    </section>
    {open === 'credit' && <Credit id={id} onClose={() => setOpen(null)} />}
    {open === 'operator' && <Act title={isOperator ? w.withdrawTitle : w.grantRoleTitle} needed danger={isOperator}
      lead={isOperator ? w.withdrawLead : w.grantRoleLead} submit={isOperator ? w.withdraw : w.grantRole}
      done={w.roleChanged}
      action={reason => api.setOperator(id, !isOperator, reason)} onClose={() => setOpen(null)} />}
  </>
}

// AccountFacts shows an account at a point in time.
export function AccountFacts({ of }: { of: Account }) {
  const { subscription, usage } = of
  return <div class="card">
    <Facts of={[
      [w.state, <State of={of.state} />],
      [w.opened, <Time at={unix(of.opened_at)} />],
      [w.plan, <>{words.plans[of.plan] ?? of.plan}{of.entitled_until
        && <small> · {words.until} <Time at={unix(of.entitled_until)} /></small>}</>],
      [w.role, of.operator ? <span class="badge">{w.operator}</span> : w.noRole],
      [w.terms, of.accepted_tos ? w.accepted : w.notAccepted],
      [w.mail, of.wants_email === null ? w.neverSaid : of.wants_email ? w.wanted : w.unwanted],
      [w.keys, of.api_keys.length ? <span class="list">{of.api_keys.map(key => <code key={key}>{key}</code>)}</span>
        : w.noKeys],
      [w.voices, w.voiceCount(number(of.instant_voices), number(of.professional_voices))],
      [w.subscription, subscription
        ? <>{words.plans[subscription.plan] ?? subscription.plan}, {subscription.status} <small>· {words.until} <Time
          at={unix(subscription.period_end)} /></small> <code>{subscription.id}</code></>
        : w.noSubscription],
      !!usage && [w.used, <>{characters(usage.characters)}{usage.character_limit !== null
        && <small> {w.ofLimit(number(usage.character_limit))}</small>}
        {usage.reserved > 0 && <small> · {w.reserved(characters(usage.reserved))}</small>}</>],
      [w.credit, characters(usage?.credit_left ?? 0)],
      !!usage && [w.period, <><Time at={unix(usage.period_start)} /> – <Time at={unix(usage.period_end)} /></>],
      !!of.sessions_ended_before && [w.sessionsEnded, <Time at={unix(of.sessions_ended_before)} />],
    ]} />
  </div>
}

function ErasureFacts({ of }: { of: Erasure }) {
  const time = (iso: string | null) => <Time at={iso ? unix(iso) : null} />
  if (of.state === 'open') return <p class="faint">{w.notClosed}</p>
  return <div class="card"><Facts of={[
    [w.state, <State of={of.state} />],
    [w.closedAt, time(of.closed_at)], [w.erasedAt, time(of.erased_at)], [w.againDue, time(of.erased_again_due)],
    [w.againAt, time(of.erased_again_at)], [w.keyGone, time(of.key_destroyed_at)],
    ...of.left.map(left => [left.what, w.left(number(left.count))] as [string, string]),
  ]} /></div>
}

function Credit({ id, onClose }: { id: string; onClose: () => void }) {
  const [count, setCount] = useState('')
  // A repetition with the same id, after a lost reply, has no effect.
  const [grant] = useState(() =>
    `console-${Array.from(crypto.getRandomValues(new Uint8Array(8)), b => b.toString(16).padStart(2, '0')).join('')}`)
  return <Act title={w.creditTitle} lead={w.creditLead} submit={w.grantCredit} done={w.granted}
    action={reason => api.credit(id, Number(count), grant, reason)} onClose={onClose}>
    <Field label={w.howMany}>
      <input type="number" min={1} max={1_000_000_000} step={1} required value={count}
        onInput={e => setCount(e.currentTarget.value)} />
    </Field>
  </Act>
}
