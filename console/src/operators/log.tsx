// The log: its events, single events, and the life of an account.
import { useEffect, useState } from 'preact/hooks'
import { messageOf } from '../api'
import { dateTime, number, unix, utc } from '../format'
import { Choice, Empty, Field, Form, Header, Icon, Loaded, Notice, Time, useResource } from '../ui'
import { AccountFacts } from './accounts'
import { api, type Area, type Entry, type EventPage, type LogEvent } from './api'
import { usePlace } from './app'
import { AccountLink, EventDialog, More, SectionHeader, Table, type EventName } from './parts'
import { words } from './words'

const w = words.log

type Filter = { stream: string; type: string; account: string }

export function Log() {
  const { view, id } = usePlace()
  const account = view === 'log' ? id : ''
  const [tab, setTab] = useState<'events' | 'life'>(account ? 'life' : 'events')
  useEffect(() => { if (account) setTab('life') }, [account])
  return <>
    <Header title={w.title} lead={w.lead}>
      <Choice label={w.title} value={tab} options={[['events', w.events], ['life', w.life]]} onChange={setTab} />
    </Header>
    {tab === 'events' ? <Events /> : <Life account={account} />}
  </>
}

function Events() {
  const kinds = useResource(api.kinds, [])
  const [draft, setDraft] = useState<Filter>({ stream: '', type: '', account: '' })
  const [filter, setFilter] = useState(draft)
  const field = (name: keyof Filter, label: string, list?: string, hint?: string) => <Field label={label}
    hint={hint ?? ''}>
    <input value={draft[name]} list={list} maxLength={200} autocomplete="off" spellcheck={false}
      onInput={event => setDraft({ ...draft, [name]: event.currentTarget.value })} />
  </Field>
  return <>
    <section class="card filter-card">
      <Form submit={w.show} action={async () =>
        setFilter({ stream: draft.stream.trim(), type: draft.type.trim(), account: draft.account.trim() })}>
        <div class="fields">
          {field('type', words.event.type, 'types')}
          {field('stream', words.event.stream, 'streams', w.streamHint)}
          {field('account', w.account, undefined, w.accountHint)}
        </div>
        <datalist id="types">{kinds.data?.types.map(one => <option key={one} value={one} />)}</datalist>
        <datalist id="streams">{kinds.data?.streams.map(one => <option key={one}
          value={one.endsWith('-') ? one + '*' : one} />)}</datalist>
      </Form>
    </section>
    <EventList key={JSON.stringify(filter)} filter={filter} />
  </>
}

function EventList({ filter }: { filter: Filter }) {
  const first = useResource(() => api.events(filter), ['operators'])
  const [older, setOlder] = useState<EventPage>()
  const [shown, setShown] = useState<LogEvent | null>(null)
  const [failure, setFailure] = useState('')
  return <Loaded of={first} rows={8}>{page => {
    const events = [...page.events, ...older?.events ?? []]
    const next = older ? older.next : page.next
    const load = async () => {
      setFailure('')
      try {
        const following = await api.events({ ...filter, before: next! })
        setOlder(old => ({ ...following, events: [...old?.events ?? [], ...following.events],
          read: (old?.read ?? 0) + following.read }))
      } catch (error) {
        setFailure(messageOf(error))
      }
    }
    return <>
      {events.length === 0 && !next ? <Empty icon="log" title={w.none} lead={w.noneLead} />
        : <Table label={w.events} head={[w.time, words.event.type, words.event.stream, words.actions]}>
          {events.map(event => <tr key={event.id}>
            <td><Time at={unix(event.created)} /></td>
            <th scope="row"><code>{event.type}</code></th>
            <td><code class="name" title={event.stream}>{event.stream}</code> <small>
              {words.event.revision(event.revision)}</small></td>
            <td class="end"><button class="button small" aria-label={w.showEvent(event.type)}
              onClick={() => setShown(event)}>{words.show}</button></td>
          </tr>)}
        </Table>}
      {failure && <Notice kind="error">{failure}</Notice>}
      {next ? <><More action={load} label={w.older} />
        <p class="faint centre">{w.read(number(page.read + (older?.read ?? 0)))}</p></>
        : events.length > 0 && <p class="faint centre">{w.beginning}</p>}
      {shown && <EventDialog of={shown} onClose={() => setShown(null)} />}
    </>
  }}</Loaded>
}

const areas: Area[] = ['sessions', 'billing', 'activity']

// lived returns the entries of an account in all areas up to a time, the oldest first. If an area has more than a page,
// it also returns where they end.
async function lived(account: string, asOf: string): Promise<{ entries: Entry[]; soFar: boolean }> {
  const pages = await Promise.all(areas.map(area => api.entries(area, { account, to: asOf, limit: '1000' })))
  const ends = pages.filter(page => page.next_page_token).map(page => page.entries.at(-1)!.at)
  const entries = pages.flatMap(page => page.entries).sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
  const end = ends.sort()[0]
  return { entries: end ? entries.filter(entry => entry.at <= end) : entries, soFar: !!end }
}

function Life({ account }: { account: string }) {
  const [draft, setDraft] = useState(account)
  const [time, setTime] = useState('')
  const [asOf, setAsOf] = useState('')
  useEffect(() => { if (account) setDraft(account) }, [account])
  return <>
    <section class="card filter-card">
      <Form submit={w.show} disabled={!draft.trim()} action={async () => {
        setAsOf(time ? new Date(time).toISOString() : '')
        location.hash = `/log/${encodeURIComponent(draft.trim())}`
      }}>
        <div class="fields">
          <Field label={w.account}><input value={draft} maxLength={64} autocomplete="off" spellcheck={false}
            onInput={e => setDraft(e.currentTarget.value)} /></Field>
          <Field label={w.asOf} hint={w.asOfHint}><input type="datetime-local" step={1} value={time}
            onInput={e => setTime(e.currentTarget.value)} /></Field>
        </div>
      </Form>
    </section>
    {account ? <Timeline key={account + asOf} account={account} asOf={asOf} /> : <Empty icon="accounts"
      title={w.noAccount} lead={w.noAccountLead} />}
  </>
}

function Timeline({ account, asOf }: { account: string; asOf: string }) {
  const state = useResource(() => api.account(account, asOf), [])
  const life = useResource(() => lived(account, asOf), [])
  const [shown, setShown] = useState<EventName | null>(null)
  return <>
    <section aria-labelledby="then">
      <SectionHeader id="then" title={asOf ? w.then(dateTime(unix(asOf))) : w.now}>
        <AccountLink id={account} /></SectionHeader>
      <Loaded of={state} rows={4}>{found => <AccountFacts of={found} />}</Loaded>
    </section>
    <section aria-labelledby="happened">
      <SectionHeader id="happened" title={w.happened} />
      <Loaded of={life} rows={6}>{({ entries, soFar }) => entries.length === 0 ? <Empty icon="log"
        title={w.nothingHappened} /> : <>
        <ol class="timeline">{entries.map(entry => <li key={entry.event_id}>
          <time dateTime={entry.at} title={utc(unix(entry.at))}>{dateTime(unix(entry.at))}</time>
          <p><bdi>{entry.sentence}</bdi></p>
          <button class="button small" aria-label={w.showEvent(entry.kind)} onClick={() => setShown(entry)}>
            <Icon name="search" /><code>{entry.kind}</code></button>
        </li>)}</ol>
        {soFar && <Notice kind="info">{w.soFar}</Notice>}
      </>}</Loaded>
    </section>
    {shown && <EventDialog of={shown} onClose={() => setShown(null)} />}
  </>
}
