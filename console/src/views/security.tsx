import { useState } from 'preact/hooks'
import { api, messageOf, type Account, type Session } from '../api'
import { useSigned } from '../app'
import { country } from '../format'
import { announce } from '../live'
import { ConfirmByTyping, Copy, Dialog, Form, Header, Loaded, Notice, Time, toast, undoable, useResource } from '../ui'
import { words } from '../words'
import { Activity } from './activity'

const w = words.security

export function Security() {
  const { account } = useSigned()
  return <>
    <Header title={w.title} lead={w.lead} />
    <Sessions />
    <Owner />
    <Loaded of={account} rows={2}>{shown => <Preferences account={shown} />}</Loaded>
    <Activity />
    <Closing />
  </>
}

function Sessions() {
  const sessions = useResource(api.sessions, ['sessions'])
  const [ended, setEnded] = useState<ReadonlySet<string>>(new Set())
  const [asking, setAsking] = useState(false)
  const end = (one: Session) => {
    setEnded(old => new Set(old).add(one.id))
    undoable(w.ended, async () => { await api.endSession(one.id); announce('sessions') },
      () => setEnded(old => new Set([...old].filter(id => id !== one.id))))
  }
  return <section aria-labelledby="sessions">
    <header class="section-header">
      <div><h2 id="sessions">{w.sessions}</h2><p>{w.sessionsLead}</p></div>
      <button class="button small" onClick={() => setAsking(true)}>{w.endAll}</button>
    </header>
    <Loaded of={sessions}>{list => <SessionTable sessions={list.filter(one => !ended.has(one.id))}
      onEnd={end} />}</Loaded>
    {asking && <Dialog title={w.endAllTitle} onClose={() => setAsking(false)}>
      <Form submit={w.endAll} danger onCancel={() => setAsking(false)} action={async () => {
        await api.endSessions()
        dispatchEvent(new Event('signed-out'))
      }}><p>{w.endAllLead}</p></Form>
    </Dialog>}
  </section>
}

function SessionTable({ sessions, onEnd }: { sessions: Session[]; onEnd: (one: Session) => void }) {
  return <div class="table stack" tabIndex={0} role="group" aria-label={w.sessions}>
    <table>
      <thead><tr><th>{w.device}</th><th>{w.where}</th><th>{w.started}</th><th>{w.used}</th><th>
        <span class="hidden">{words.keys.actions}</span></th></tr></thead>
      <tbody>
        {sessions.map(one => <tr key={one.id}>
          <th scope="row"><bdi class="name">{one.device_label ?? words.unknown}</bdi></th>
          <td>{one.country ? country(one.country) : words.none}</td>
          <td><Time at={one.created_at} /></td>
          <td><Time at={one.updated_at} relative /></td>
          <td class="end">{one.current ? <span class="badge good">{w.current}</span>
            : <button class="button small" onClick={() => onEnd(one)}>{w.end}</button>}</td>
        </tr>)}
      </tbody>
    </table>
  </div>
}

function Owner() {
  const { profile } = useSigned()
  return <section aria-labelledby="profile">
    <h2 id="profile">{w.profile}</h2>
    <dl class="card pairs">
      <div><dt>{w.name}</dt><dd><bdi>{profile.name}</bdi></dd></div>
      <div><dt>{w.email}</dt><dd><bdi>{profile.email}</bdi></dd></div>
      <div><dt>{w.account}</dt><dd><code>{profile.id}</code><Copy text={profile.id} /></dd></div>
    </dl>
  </section>
}

function Preferences({ account }: { account: Account }) {
  const [error, setError] = useState<unknown>()
  const change = (act: () => Promise<unknown>) => async () => {
    setError(undefined)
    try {
      await act()
      toast(w.saved)
    } catch (failure) {
      setError(failure)
    }
    announce('account')
  }
  const wants = account.wants_email ?? true
  return <section aria-labelledby="preferences">
    <h2 id="preferences">{w.preferences}</h2>
    <div class="card pairs">
      <label class="check">
        <input type="checkbox" role="switch" checked={wants} onChange={change(() => api.wantEmail(!wants))} />
        <span>{w.wantsEmail}<small>{w.wantsEmailHint}</small></span>
      </label>
      <div><span>{w.terms}</span>{account.accepted_tos ? <span class="badge good">{w.accepted}</span>
        : <button class="button small" onClick={change(api.acceptTerms)}>{w.accept}</button>}</div>
    </div>
    {error !== undefined && <Notice kind="error">{messageOf(error)}</Notice>}
  </section>
}

function Closing() {
  const [open, setOpen] = useState(false)
  return <section class="closing" aria-labelledby="closing">
    <div><h2 id="closing">{w.closing}</h2><p>{w.closingLead}</p></div>
    <button class="button danger-text" onClick={() => setOpen(true)}>{w.closing}</button>
    {open && <ConfirmByTyping title={w.closeTitle} lead={w.closeLead} word={w.closeWord} submit={w.closing}
      onClose={() => setOpen(false)} action={async () => {
        await api.closeAccount()
        toast(w.closed)
        dispatchEvent(new Event('signed-out'))
      }} />}
  </section>
}
