// The read models, and the events that they could not handle.
import { useCallback, useState } from 'preact/hooks'
import { ApiError } from '../api'
import { bytes, dateTime, duration, number, unix } from '../format'
import { Meter } from '../frame'
import { announce } from '../live'
import { ConfirmByTyping, Dialog, Empty, Header, Icon, Loaded, Time, toast, toastFailure, useResource } from '../ui'
import { api, type Figure, type Generation, type GenerationID, type Overview, type Parked, type Skip } from './api'
import { useChanges } from './app'
import { Lines } from './lines'
import { Act, Details, EventDialog, Facts, SectionHeader, State, Table, usePolling } from './parts'
import { words } from './words'

const w = words.models
const every = 2000 // milliseconds
const seldom = 10_000
const hour = 3600 // seconds

const nameOf = (one: GenerationID) => w.generation(one.name, one.version, one.generation)

type Open = { kind: 'rebuild'; of: Generation | null }
  | { kind: 'inspect' | 'promote' | 'rollBack' | 'retire'; of: Generation }

export function Models() {
  const changes = useChanges()
  const models = useResource(api.models, ['operators'])
  const figures = useResource(api.figures, ['operators'])
  const [open, setOpen] = useState<Open | null>(null)
  const close = () => setOpen(null)
  usePolling(models.reload, every)
  usePolling(figures.reload, seldom)
  return <>
    <Header title={w.title} lead={w.lead}>
      {changes && <button class="button primary"
        onClick={() => setOpen({ kind: 'rebuild', of: null })}>{w.rebuild}</button>}
    </Header>
    <ParkedEvents />
    <Loaded of={models} rows={6}>{({ projections, head }) => projections.length === 0 ? <Empty icon="models"
      title={w.none} /> : <>
      <Loaded of={figures} rows={5}>{({ figures: all }) => <Lags figures={all} now={models.data!} />}</Loaded>
      <p class="faint">{w.head} <code>{head}</code></p>
      <Generations all={projections} onOpen={setOpen} />
    </>}</Loaded>
    <SkippedEvents />
    {open && <Dialogs open={open} all={models.data?.projections ?? []} onClose={close} />}
  </>
}

// Lags plots the lags that the instance has recorded, and the current one.
function Lags({ figures, now }: { figures: Figure[]; now: Overview }) {
  const most = (of: Generation[]) => of.length > 0 ? Math.max(...of.map(one => one.lag)) : null
  const live = most(now.projections.filter(one => one.live)),
    building = most(now.projections.filter(one => one.state === 'building'))
  return <Lines title={w.lag} times={[...figures.map(one => unix(one.at)), Date.now() / 1000]} span={hour}
    shown={duration} lines={[
    { name: w.ofLive, kind: 'first', values: [...figures.map(one => one.lag), live] },
    { name: w.ofBuilding, kind: 'second', values: [...figures.map(one => one.lag_building), building] }]} />
}

// hasOlder reports whether a live generation has a previous one to roll back to.
const hasOlder = (one: Generation, all: Generation[]) =>
  all.some(other => other.name === one.name && other.version === one.version && other.generation < one.generation)

function Generations({ all, onOpen }: { all: Generation[]; onOpen: (open: Open) => void }) {
  const changes = useChanges()
  return <Table label={w.title}
    head={[w.model, w.state, w.position, w.lagShort, w.rows, w.size, w.parked, words.actions]}
    ends={[w.rows, w.size, w.parked]}>
    {all.map(one => {
      const button = (kind: 'inspect' | 'promote' | 'rollBack' | 'retire') =>
        <button class="button small" aria-label={`${w[kind]} ${nameOf(one)}`}
          onClick={() => onOpen({ kind, of: one })}>{w[kind]}</button>
      return <tr key={nameOf(one)}>
        <th scope="row"><span class="name">{one.name}</span> <small>{w.number(one.version, one.generation)}</small></th>
        <td><span class="states">{one.live && <span class="badge">{w.live}</span>}<State of={one.state} /></span></td>
        <td>{one.state === 'building' ? <Progress of={one} /> : <code>{one.position}</code>}</td>
        <td>{duration(one.lag)}</td>
        <td class="end">{number(one.rows)}</td>
        <td class="end">{bytes(one.size)}</td>
        <td class="end">{number(one.parked)}</td>
        <td class="end">
          {button('inspect')}
          {changes && !one.live && <>{button('promote')}{button('retire')}</>}
          {changes && one.live && hasOlder(one, all) && button('rollBack')}
        </td>
      </tr>
    })}
  </Table>
}

function Progress({ of }: { of: Generation }) {
  return <span class="progress"><Meter value={of.progress} max={1} plain />
    <span>{w.percent(Math.floor(of.progress * 100))}</span></span>
}

function Dialogs({ open, all, onClose }: { open: Open; all: Generation[]; onClose: () => void }) {
  const names = [...new Set(all.map(one => one.name))]
  if (open.kind === 'rebuild') return <Rebuild names={names} onClose={onClose} />
  const one = all.find(other => nameOf(other) === nameOf(open.of)) ?? open.of
  if (open.kind === 'inspect') return <Inspect of={one} onClose={onClose} />
  if (open.kind === 'promote') {
    return <Act title={w.promoteTitle(nameOf(one))} lead={w.promoteLead} submit={w.promote} done={w.promoted}
      action={reason => api.promote(one, reason)} onClose={onClose} />
  }
  if (open.kind === 'rollBack') {
    return <Act title={w.rollBackTitle(one.name)} lead={w.rollBackLead} submit={w.rollBack} done={w.rolledBack} danger
      action={reason => api.rollBack(one, reason)} onClose={onClose} />
  }
  return <ConfirmByTyping title={w.retireTitle(nameOf(one))} lead={w.retireLead} word={w.retireWord} submit={w.retire}
    onClose={onClose} action={async () => {
      await api.retire(one, '')
      announce('operators')
      onClose()
      toast(w.retired)
    }} />
}

function Rebuild({ names, onClose }: { names: string[]; onClose: () => void }) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [promote, setPromote] = useState(true)
  const toggle = (name: string) =>
    setChosen(old => old.has(name) ? new Set([...old].filter(one => one !== name)) : new Set(old).add(name))
  return <Act title={w.rebuildTitle} lead={w.rebuildLead} submit={w.rebuild} done={w.rebuilding} onClose={onClose}
    action={async reason => {
      if (chosen.size === 0) throw new ApiError(400, w.chooseOne)
      await api.rebuild([...chosen], promote, reason)
    }}>
    <fieldset class="names">
      <legend>{w.which}</legend>
      {names.map(name => <label key={name} class="check">
        <input type="checkbox" checked={chosen.has(name)} onChange={() => toggle(name)} /><span>{name}</span>
      </label>)}
    </fieldset>
    <button type="button" class="link" onClick={() => setChosen(new Set(chosen.size === names.length ? [] : names))}>
      {chosen.size === names.length ? w.noneOfThem : w.all}
    </button>
    <label class="check">
      <input type="checkbox" checked={promote} onChange={() => setPromote(!promote)} />
      <span>{w.promoteSoon}<small>{w.promoteSoonHint}</small></span>
    </label>
  </Act>
}

function Inspect({ of, onClose }: { of: Generation; onClose: () => void }) {
  return <Dialog title={nameOf(of)} onClose={onClose}>
    <Facts of={[
      [w.state, <span class="states">{of.live && <span class="badge">{w.live}</span>}<State of={of.state} /></span>],
      !!of.reason && [w.error, <bdi>{of.reason}</bdi>],
      of.promote && [w.next, w.becomesLive],
      [w.instance, of.instance ? <bdi>{of.instance}</bdi> : w.nobody],
      [w.position, <code>{of.position}</code>],
      [w.read, w.events(of.events, number(of.events))],
      [w.progress, w.percent(Math.floor(of.progress * 100))],
      [w.lagShort, duration(of.lag)],
      [w.rows, number(of.rows)], [w.size, bytes(of.size)], [w.parked, number(of.parked)],
      [w.moved, <Time at={of.moved_at} />], [w.created, <Time at={of.created_at} />],
    ]} />
  </Dialog>
}

function ParkedEvents() {
  const changes = useChanges()
  const parked = useResource(api.parked, ['operators'])
  const [shown, setShown] = useState<Parked | null>(null)
  const [skipping, setSkipping] = useState<Parked | null>(null)
  usePolling(parked.reload, every * 5)
  const retry = useCallback(async (one: Parked) => {
    try {
      await api.retry(one)
      toast(w.retried)
    } catch (error) {
      toastFailure(error)
    }
    announce('operators')
  }, [])
  return <section aria-labelledby="parked">
    <SectionHeader id="parked" title={w.parkedEvents} lead={w.parkedLead} />
    <Loaded of={parked} rows={2}>{list => list.length === 0 ? <div class="card calm"><Icon name="check" />
      <span>{w.noneParked}</span></div>
      : <ul class="parked card">{list.map(one => <li key={one.event_id + nameOf(one)}>
        <div class="about">
          <span class="line"><code>{one.type}</code><State of={one.state} /></span>
          <small><code>{one.stream}</code> {words.event.revision(one.revision)} · {nameOf(one)} · <Time
            at={one.parked_at} relative /></small>
          <p class="reason"><bdi>{one.reason}</bdi></p>
        </div>
        <span class="buttons">
          <Details onClick={() => setShown(one)} label={w.showEvent(one.type)} />
          {changes && <button class="button small" onClick={() => retry(one)}>{w.retry}</button>}
          {changes && <button class="button small danger-text" onClick={() => setSkipping(one)}>{w.skip}</button>}
        </span>
      </li>)}</ul>}</Loaded>
    {shown && <EventDialog of={shown} onClose={() => setShown(null)} />}
    {skipping && <Act title={w.skipTitle} lead={w.skipLead} submit={w.skip} done={w.skipped} danger needed
      action={reason => api.skip(skipping.event_id, reason)} onClose={() => setSkipping(null)}>
      <p><code>{skipping.type}</code> · <code>{skipping.stream}</code> {words.event.revision(skipping.revision)}</p>
    </Act>}
  </section>
}

type SkipAct = { kind: 'confirm' | 'unskip'; of: Skip }

function SkippedEvents() {
  const changes = useChanges()
  const skips = useResource(api.skips, ['operators'])
  const [act, setAct] = useState<SkipAct | null>(null)
  const [shown, setShown] = useState<Skip | null>(null)
  if (skips.data?.length === 0) return null
  return <section aria-labelledby="skipped">
    <SectionHeader id="skipped" title={w.skippedEvents} lead={w.skippedLead} />
    <Loaded of={skips} rows={1}>{list => <ul class="parked card">{list.map(one => <li key={one.event_id}>
      <div class="about">
        <span class="line"><code>{one.type}</code>{one.unconfirmed && 
          <span class="badge bad">{w.unconfirmed}</span>}</span>
        <small><code>{one.stream}</code> {words.event.revision(one.revision)} · {dateTime(one.skipped_at)} · <bdi>
          {one.by}</bdi></small>
        <p class="reason"><bdi>{one.reason}</bdi></p>
      </div>
      <span class="buttons">
        <Details onClick={() => setShown(one)} label={w.showEvent(one.type)} />
        {changes && one.unconfirmed && <button class="button small"
          onClick={() => setAct({ kind: 'confirm', of: one })}>{w.confirm}</button>}
        {changes && <button class="button small" onClick={() => setAct({ kind: 'unskip', of: one })}>{w.unskip}</button>
          }
      </span>
    </li>)}</ul>}</Loaded>
    {shown && <EventDialog of={shown} onClose={() => setShown(null)} />}
    {act?.kind === 'confirm' && <Act title={w.confirmTitle} lead={w.confirmLead} submit={w.confirm}
      done={w.confirmed} needed
      action={reason => api.confirmSkip(act.of.event_id, reason)} onClose={() => setAct(null)} />}
    {act?.kind === 'unskip' && <Act title={w.unskipTitle} lead={w.unskipLead} submit={w.unskip}
      done={w.unskipped} needed
      action={reason => api.unskip(act.of.event_id, reason)} onClose={() => setAct(null)} />}
  </section>
}
