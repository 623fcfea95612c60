// The page of operators and auditors: sign-in and the current view.
import { createContext, type FunctionComponent } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, base, messageOf } from '../api'
import { unix } from '../format'
import { Frame, useSignIn } from '../frame'
import { Logo } from '../logo'
import { Failed, Field, Form, Icon, Notice, Skeleton, Time, Toasts } from '../ui'
import { words as shared } from '../words'
import { Accounts } from './accounts'
import { api, type Who } from './api'
import { Audit } from './audit'
import { Log } from './log'
import { Models } from './models'
import { Overview } from './overview'
import { words } from './words'

type View = keyof typeof words.views
const views: Record<View, FunctionComponent> = {
  overview: Overview, models: Models, accounts: Accounts, log: Log, audit: Audit,
}
const names = Object.keys(views) as View[]
const entries = names.map(name => ({ name, label: words.views[name], icon: name }))

const WhoContext = createContext<Who | null>(null)

// useWho returns the signed-in person within the views.
export const useWho = () => useContext(WhoContext)!

// useChanges reports whether the person may make changes.
export const useChanges = () => useWho().role === 'operator'

export interface Place { view: View; id: string }

function decoded(part: string): string {
  try { return decodeURIComponent(part) } catch { return part }
}

// placeOf parses an address such as #/accounts/7.
function placeOf(hash: string): Place {
  const [view, id = ''] = hash.replace(/^#\//, '').split('/')
  return { view: names.find(name => name === view) ?? 'overview', id: decoded(id) }
}

// usePlace returns the view and its subject.
export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const changed = () => setHash(location.hash)
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return placeOf(hash)
}

export function App() {
  const [state, setState, load] = useSignIn(api.who)
  return <>
    {state.kind === 'loading' && <main class="bare"><Skeleton rows={4} /></main>}
    {state.kind === 'failed' && <main class="bare"><Failed error={state.error} onRetry={load} /></main>}
    {state.kind === 'stranger' && <SignIn ended={state.ended} onSignedIn={load} />}
    {state.kind === 'signed' && <Signed who={state.profile}
      onSignOut={async () => { await api.signOut(); setState({ kind: 'stranger', ended: false }) }} />}
    <Toasts />
  </>
}

// accepted replaces the error of a refused token by the page's own words.
async function accepted(token: string) {
  try {
    await api.signIn(token.trim())
  } catch (error) {
    throw error instanceof ApiError && error.status === 401 ? new ApiError(401, words.wrongToken) : error
  }
}

function SignIn({ ended, onSignedIn }: { ended: boolean; onSignedIn: () => Promise<void> }) {
  const [token, setToken] = useState('')
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    document.title = `${words.signIn} · ${shared.product}`
    field.current?.focus() // browsers ignore autofocus after a session has ended
  }, [])
  return <main class="bare sign-in">
    <div class="brand"><Logo />{shared.product}</div>
    {ended && <Notice kind="info">{words.ended}</Notice>}
    {!isSecureContext && <Notice kind="warning">{words.insecure}</Notice>}
    <section class="card">
      <div><h1>{words.signIn}</h1><p class="faint">{words.signInLead}</p></div>
      <Form submit={words.signIn} disabled={!token.trim()}
        action={async () => { await accepted(token); await onSignedIn() }}>
        <Field label={words.token} hint={words.tokenHint}>
          <input type="password" value={token} ref={field} autocomplete="off" spellcheck={false} maxLength={500}
            onInput={event => setToken(event.currentTarget.value)} />
        </Field>
      </Form>
    </section>
    <p class="faint">{words.stranger} <a href={new URL('docs', base).href}>{words.reference}</a></p>
  </main>
}

// useEnd ends the session on the page at its expiry.
function useEnd(at: string | null) {
  useEffect(() => {
    if (at === null) return
    const timer = setTimeout(() => dispatchEvent(new Event('signed-out')), Math.max(0, Date.parse(at) - Date.now()))
    return () => clearTimeout(timer)
  }, [at])
}

function Signed({ who, onSignOut }: { who: Who; onSignOut: () => Promise<void> }) {
  const { view } = usePlace()
  const [failure, setFailure] = useState('')
  useEnd(who.expires_at)
  const Shown = views[view]
  return <WhoContext.Provider value={who}>
    <Frame entries={entries} view={view} foot={<>
      <a href={new URL('docs', base).href}><Icon name="book" /><span>{words.reference}</span></a>
      <button onClick={() => onSignOut().catch(error => setFailure(messageOf(error)))}>
        <Icon name="out" /><span>{shared.signOut}</span>
      </button>
      {failure && <Notice kind="error">{failure}</Notice>}
      <div class="who"><bdi>{who.operator}</bdi>
        <small>{words.roles[who.role]}{who.expires_at && <>, {words.until} <Time at={unix(who.expires_at)} /></>}
          </small>
      </div>
    </>}>
      {!isSecureContext && <Notice kind="warning">{words.insecure}</Notice>}
      <Shown />
    </Frame>
  </WhoContext.Provider>
}
