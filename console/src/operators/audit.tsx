// Who did what, and whether the record was changed.
import { useEffect, useRef, useState } from 'preact/hooks'
import { base, messageOf } from '../api'
import { csv, number, save, unix } from '../format'
import { Meter } from '../frame'
import { Choice, Copy, Dialog, Empty, Field, Form, Header, Icon, Loaded, Notice, Skeleton, Time,
  useResource } from '../ui'
import { words as shared } from '../words'
import { api, type Area, type Entry, type EntryPage, type HeadPage, type Verification } from './api'
import { useWho } from './app'
import { AccountLink, EventDialog, Facts, More, Reason, SectionHeader, State, Table } from './parts'
import { words } from './words'

const w = words.audit

type Tab = Area | 'chain'

export function Audit() {
  const [tab, setTab] = useState<Tab>('sessions')
  return <>
    <Header title={w.title} lead={w.lead} />
    <Choice label={w.title} value={tab} options={Object.entries(w.areas) as [Tab, string][]} onChange={setTab} />
    {tab === 'chain' ? <Chain /> : <Entries key={tab} area={tab} />}
  </>
}

interface Filter {
  account: string; email: string; session: string; kind: string; operator: string; from: string; to: string
  personal: boolean; reason: string
}
const nothing: Filter = { account: '', email: '', session: '', kind: '', operator: '', from: '', to: '',
  personal: false, reason: '' }

const iso = (local: string) => local ? new Date(local).toISOString() : ''
const asked = (of: Filter, page = '') => ({
  account: of.account.trim(), email: of.email.trim(), session: of.session.trim(), kind: of.kind.trim(),
  operator: of.operator.trim(),
  from: iso(of.from), to: iso(of.to), personal: of.personal ? 'true' : '',
  reason: of.personal || of.email ? of.reason.trim() : '',
  page_token: page,
})

function Entries({ area }: { area: Area }) {
  const who = useWho()
  const kinds = useResource(api.kinds, [])
  const [draft, setDraft] = useState(nothing)
  const [list, setList] = useState<{ of: Filter; page: EntryPage }>()
  const [failure, setFailure] = useState<unknown>()
  const first = async (of: Filter) => setList({ of, page: await api.entries(area, asked(of)) })
  useEffect(() => { first(nothing).catch(setFailure) }, [])
  const set = (change: Partial<Filter>) => setDraft({ ...draft, ...change })
  const text = (name: 'account' | 'email' | 'session' | 'kind' | 'operator', listed?: string) =>
    <Field label={w.filters[name]}>
    <input value={draft[name]} list={listed} maxLength={320} autocomplete="off" spellcheck={false}
      onInput={e => set({ [name]: e.currentTarget.value })} />
  </Field>
  const time = (name: 'from' | 'to') => <Field label={w.filters[name]}>
    <input type="datetime-local" step={1} value={draft[name]} onInput={e => set({ [name]: e.currentTarget.value })} />
  </Field>
  const recorded = draft.personal || draft.email.trim() !== ''
  return <>
    <section class="card filter-card">
      <Form submit={w.show} disabled={recorded && !draft.reason.trim()}
        action={async () => { await first(draft); setFailure(undefined) }}>
        <div class="fields">
          {text('account')}{text('email')}{text('session')}{text('kind', 'kinds')}{text('operator')}{time('from')}
            {time('to')}
        </div>
        <datalist id="kinds">{kinds.data?.types.map(one => <option key={one} value={one} />)}</datalist>
        {who.role === 'auditor' && <label class="check">
          <input type="checkbox" checked={draft.personal} onChange={() => set({ personal: !draft.personal })} />
          <span>{w.personal}<small>{w.personalHint}</small></span>
        </label>}
        {recorded && <Reason value={draft.reason} onChange={reason => set({ reason })} needed hint={w.recordedHint} />}
      </Form>
    </section>
    {failure !== undefined && !list ? <Notice kind="error">{messageOf(failure)}</Notice>
      : list ? <EntryList area={area} list={list} onMore={page => setList({ ...list, page })} /> : <Skeleton rows={6} />
        }
  </>
}

const columns = ['at', 'kind', 'what', 'account_id', 'session_id', 'actor', 'actor_name', 'actor_role', 'actor_address',
  'actor_reason',
  'actor_key', 'actor_session', 'stream', 'revision', 'position', 'event_id', 'correlation', 'causation']

const lineOf = (of: Entry): (string | number)[] => [of.at, of.kind, of.sentence, of.account_id ?? '',
  of.session_id ?? '', of.actor.kind,
  of.actor.name ?? '', of.actor.role ?? '', of.actor.address ?? '', of.actor.reason ?? '', of.actor.key ?? '',
  of.actor.session ?? '',
  of.stream, of.revision, of.position, of.event_id, of.correlation, of.causation]

// mostSaved is the maximum number of entries in a file.
const mostSaved = 20_000

// saveAll saves the entries of a filter, including those that are not shown.
async function saveAll(area: Area, of: Filter) {
  const entries: Entry[] = []
  for (let page: string | null = ''; page !== null && entries.length < mostSaved;) {
    const { entries: some, next_page_token: next }: EntryPage =
      await api.entries(area, { ...asked(of, page), limit: '1000' })
    entries.push(...some)
    page = next
  }
  const personal = [...new Set(entries.flatMap(one => Object.keys(one.personal ?? {})))].sort()
  const rows = entries.map(one => [...lineOf(one), ...personal.map(name => one.personal?.[name] ?? '')])
  save(new Blob([csv([[...columns, ...personal], ...rows])], { type: 'text/csv' }), `audit-${area}.csv`)
}

function EntryList({ area, list, onMore }: {
  area: Area; list: { of: Filter; page: EntryPage }; onMore: (page: EntryPage) => void
}) {
  const [shown, setShown] = useState<Entry | null>(null)
  const [failure, setFailure] = useState('')
  const { of, page } = list
  const tried = async (act: () => Promise<void>) => {
    setFailure('')
    try { await act() } catch (error) { setFailure(messageOf(error)) }
  }
  if (page.entries.length === 0) return <Empty icon="audit" title={w.none} lead={w.noneLead} />
  return <section>
    <header class="section-header">
      <p>{w.count(page.entries.length, number(page.entries.length), page.next_page_token !== null)}</p>
      <More action={() => tried(() => saveAll(area, of))} label={w.csv} />
    </header>
    <Table label={w.areas[area]} head={[w.time, w.what, w.who, words.actions]}>
      {page.entries.map(entry => <tr key={entry.event_id}>
        <td><Time at={unix(entry.at)} /></td>
        <th scope="row" class="wrap"><bdi>{entry.sentence}</bdi>
          {entry.personal && <small class="personal">{Object.entries(entry.personal).map(([name, value]) =>
            <span key={name}>{name}: <bdi>{value}</bdi></span>)}</small>}
        </th>
        <td>{w.actors[entry.actor.kind] ?? entry.actor.kind}{entry.actor.name
          && <small> · <bdi>{entry.actor.name}</bdi></small>}</td>
        <td class="end"><button class="button small" aria-label={w.showEntry(entry.kind)}
          onClick={() => setShown(entry)}>{words.show}</button></td>
      </tr>)}
    </Table>
    {failure && <Notice kind="error">{failure}</Notice>}
    {page.next_page_token !== null && <More action={() => tried(async () => {
      const next = await api.entries(area, asked(of, page.next_page_token!))
      onMore({ ...next, entries: [...page.entries, ...next.entries] })
    })} />}
    {shown && <EntryDialog of={shown} onClose={() => setShown(null)} />}
  </section>
}

function EntryDialog({ of, onClose }: { of: Entry; onClose: () => void }) {
  const [event, setEvent] = useState(false)
  if (event) return <EventDialog of={of} onClose={onClose} />
  const { actor } = of
  return <Dialog title={of.kind} onClose={onClose} wide>
    <p><bdi>{of.sentence}</bdi></p>
    <Facts of={[
      [w.time, <Time at={unix(of.at)} />],
      !!of.account_id && [w.filters.account, <AccountLink id={of.account_id} />],
      !!of.session_id && [w.filters.session, <code>{of.session_id}</code>],
      [w.who, w.actors[actor.kind] ?? actor.kind],
      !!actor.name && [w.filters.operator, <bdi>{actor.name}{actor.role && ` (${actor.role})`}</bdi>],
      !!actor.address && [w.address, <code>{actor.address}</code>],
      !!actor.reason && [words.reason, <bdi>{actor.reason}</bdi>],
      !!actor.key && [w.key, <code>{actor.key}</code>],
      ...Object.entries(of.personal ?? {}).map(([name, value]) => [name, <bdi>{value}</bdi>] as [string,
        preact.JSX.Element]),
      [w.correlation, <code>{of.correlation}</code>],
      !!of.causation && [w.causation, <code>{of.causation}</code>],
      [words.event.stream, <><code>{of.stream}</code> {words.event.revision(of.revision)}</>],
    ]} />
    <footer><button class="button" onClick={() => setEvent(true)}>{w.wholeEvent}</button></footer>
  </Dialog>
}

async function allHeads() {
  const { log, key } = await api.key()
  const heads: HeadPage['heads'] = []
  for (let from: number | null = 0; from !== null;) {
    const page: HeadPage = await api.heads(from)
    heads.push(...page.heads)
    from = page.next
  }
  return { log, key, heads }
}

function Chain() {
  const chain = useResource(allHeads, ['operators'])
  return <>
    <Check />
    <section aria-labelledby="heads">
      <SectionHeader id="heads" title={w.heads} lead={w.headsLead}>
        {!!chain.data?.heads.length && <button class="button small" onClick={() => save(
          new Blob(chain.data!.heads.map(({ head }) => JSON.stringify(head) + '\n'), { type: 'application/jsonl' }),
            'heads.jsonl')}>
          <Icon name="download" />{w.export}
        </button>}
      </SectionHeader>
      <Loaded of={chain} rows={3}>{({ key, log, heads }) => <>
        <div class="card"><Facts of={[
          [w.publicKey, <><code>{key}</code> <Copy text={key} /></>], [w.logID, <code>{log}</code>],
          [w.headCount, number(heads.length)],
        ]} /></div>
        {heads.length === 0 ? <Empty icon="audit" title={w.noHeads} /> : <Table label={w.heads}
          head={[w.signed, w.speaksOf, w.hash]}>
          {heads.slice(-20).reverse().map(({ revision, head }) => <tr key={revision}>
            <td><Time at={unix(head.at)} /></td><td>{w.eventCount(number(head.count))}</td>
            <td><code class="name" title={head.hash}>{head.hash}</code></td>
          </tr>)}
        </Table>}
      </>}</Loaded>
    </section>
  </>
}

type Checked = { kind: 'running' | 'done'; now: Verification | null } | { kind: 'failed'; message: string }

function Check() {
  const [state, setState] = useState<Checked>()
  const source = useRef<EventSource | null>(null)
  useEffect(() => () => source.current?.close(), [])
  const begin = () => {
    setState({ kind: 'running', now: null })
    const events = source.current = new EventSource(base + 'admin/audit/verification')
    const told = (event: MessageEvent) => JSON.parse(event.data)
    const end = (with_: Checked) => { events.close(); setState(with_) }
    events.addEventListener('progress', event => setState({ kind: 'running', now: told(event) }))
    events.addEventListener('report', event => end({ kind: 'done', now: told(event) }))
    events.addEventListener('failed', event => end({ kind: 'failed', message: told(event).error }))
    events.onerror = () => end({ kind: 'failed', message: w.checkLost })
  }
  const running = state?.kind === 'running'
  return <section aria-labelledby="check">
    <SectionHeader id="check" title={w.check} lead={w.checkLead}>
      {running && <button class="button"
        onClick={() => { source.current?.close(); setState(undefined) }}>{shared.cancel}</button>}
      <button class="button primary" disabled={running} aria-busy={running}
        onClick={begin}>{running && <span class="spinner" />}{w.begin}</button>
    </SectionHeader>
    <div aria-live="polite">
      {state?.kind === 'failed' && <Notice kind="error">{state.message}</Notice>}
      {running && <div class="card checking">
        <Meter value={state.now?.part ?? 0} max={1} plain />
        <span>{w.progress(Math.floor((state.now?.part ?? 0) * 100), number(state.now?.events ?? 0),
          number(state.now?.heads ?? 0))}</span>
      </div>}
      {state?.kind === 'done' && state.now && <Report of={state.now} />}
    </div>
  </section>
}

function Report({ of }: { of: Verification }) {
  return <div class="card">
    <p class="verdict"><State of={of.intact ? 'ok' : 'fault'} />
      <strong>{of.intact ? w.intact : of.findings.length ? w.changed : w.nothingProved}</strong></p>
    {of.findings.length > 0 && <ul class="changed">{of.findings.map(one => <li key={one}><bdi>{one}</bdi></li>)}</ul>}
    <Facts of={[
      [w.checkedEvents, number(of.events)], [w.fittingHeads, number(of.heads)],
      !!of.last && [w.lastHead, <><Time at={unix(of.last.at)} /></>],
      [w.uncovered, number(of.uncovered)], of.foreign > 0 && [w.foreign, number(of.foreign)],
    ]} />
  </div>
}
