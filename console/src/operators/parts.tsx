// The parts that several views of operators share.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { utc } from '../format'
import { announce } from '../live'
import { Copy, Dialog, Field, Form, Icon, Loaded, toast, useResource } from '../ui'
import { api, type LogEvent } from './api'
import { words } from './words'

// usePolling calls again at an interval in milliseconds, while the page is visible.
export function usePolling(again: () => void, every: number) {
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden) again() }, every)
    return () => clearInterval(timer)
  }, [again, every])
}

const good = ['ok', 'current', 'open', 'active', 'complete']
const bad = ['fault', 'stopped', 'blocking', 'unfed', 'closed', 'erased']

// State shows a state in words and in a colour.
export function State({ of }: { of: string }) {
  return <span class={`badge ${good.includes(of) ? 'good' : bad.includes(of) ? 'bad' : 'neutral'}`}>{words.states[of]
    ?? of}</span>
}

export function Reason({ value, onChange, needed, hint = words.reasonHint }: {
  value: string; onChange: (reason: string) => void; needed?: boolean; hint?: string
}) {
  return <Field label={needed ? words.reason : words.reasonOptional} hint={hint}>
    <input value={value} maxLength={500} required={needed ?? false} autocomplete="off"
      onInput={event => onChange(event.currentTarget.value)} />
  </Field>
}

// Act is a dialog for an action with a reason. Then everything is read again.
export function Act({ title, lead, submit, done, danger, needed, action, onClose, children }: {
  title: string; lead?: string; submit: string; done: string; danger?: boolean; needed?: boolean
  action: (reason: string) => Promise<unknown>; onClose: () => void; children?: ComponentChildren
}) {
  const [reason, setReason] = useState('')
  return <Dialog title={title} onClose={onClose}>
    <Form submit={submit} danger={danger ?? false} disabled={!!needed && !reason.trim()} onCancel={onClose}
      action={async () => {
      await action(reason)
      announce('operators')
      onClose()
      toast(done)
    }}>
      {lead && <p>{lead}</p>}
      {children}
      <Reason value={reason} onChange={setReason} needed={needed ?? false} />
    </Form>
  </Dialog>
}

export interface EventName { stream: string; revision: number }

// EventDialog shows a whole event of the log.
export function EventDialog({ of, onClose, children }: {
  of: EventName | LogEvent; onClose: () => void; children?: ComponentChildren
}) {
  const event = useResource(async () => {
    if ('data' in of) return of
    const { events } = await api.events({ stream: of.stream, revision: String(of.revision) })
    return events[0] ?? null
  }, [])
  return <Dialog title={words.event.title} onClose={onClose} wide>
    <Loaded of={event}>{found => found ? <Whole event={found} /> : <p>{words.event.gone}</p>}</Loaded>
    {children}
  </Dialog>
}

function Whole({ event }: { event: LogEvent }) {
  const text = (value: unknown) => JSON.stringify(value, null, 2)
  return <>
    <Facts of={[
      [words.event.type, <code>{event.type}</code>],
      [words.event.stream, <><code>{event.stream}</code> {words.event.revision(event.revision)}</>],
      [words.event.written, utc(Date.parse(event.created) / 1000)],
      [words.event.position, <code>{event.position}</code>],
      [words.event.id, <code>{event.id}</code>],
    ]} />
    <h3>{words.event.data}</h3>
    <Json text={text(event.data)} label={words.event.data} />
    <h3>{words.event.metadata}</h3>
    <Json text={text(event.metadata)} label={words.event.metadata} />
    <p class="faint">{words.event.sealed}</p>
  </>
}

function Json({ text, label }: { text: string; label: string }) {
  return <div class="code"><pre tabIndex={0} role="group" aria-label={label}>{text}</pre><Copy text={text} /></div>
}

// Facts is a list of names and values.
export function Facts({ of }: { of: ([string, ComponentChildren] | false)[] }) {
  return <dl class="facts">
    {of.filter(fact => fact !== false).map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}
  </dl>
}

// Table scrolls sideways if it is too narrow for its columns. The columns in ends are numbers.
export function Table({ label, head, ends = [], children }: {
  label: string; head: string[]; ends?: string[]; children: ComponentChildren
}) {
  return <div class="table" tabIndex={0} role="group" aria-label={label}>
    <table>
      <thead><tr>{head.map(name => <th key={name} class={ends.includes(name) ? 'end' : ''}>{name === words.actions
        ? <span class="hidden">{name}</span> : name}</th>)}</tr></thead>
      <tbody>{children}</tbody>
    </table>
  </div>
}

// More loads the next page.
export function More({ action, label = words.more }: { action: () => Promise<void>; label?: string }) {
  const [busy, setBusy] = useState(false)
  return <div class="more"><button class="button" disabled={busy} aria-busy={busy} onClick={() => {
    setBusy(true)
    action().finally(() => setBusy(false))
  }}>{busy && <span class="spinner" />}{label}</button></div>
}

// AccountLink leads to the view of an account.
export function AccountLink({ id }: { id: string }) {
  return <a class="id" href={`#/accounts/${encodeURIComponent(id)}`}><code>{id}</code></a>
}

export function SectionHeader({ id, title, lead, children }: {
  id: string; title: string; lead?: string; children?: ComponentChildren
}) {
  return <header class="section-header">
    <div><h2 id={id}>{title}</h2>{lead && <p>{lead}</p>}</div>
    {children && <div class="actions">{children}</div>}
  </header>
}

export function Details({ onClick, label }: { onClick: () => void; label: string }) {
  return <button class="button small" onClick={onClick} aria-label={label}><Icon name="search" />{words.show}</button>
}
