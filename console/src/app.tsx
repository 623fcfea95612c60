// The frame of the page: who is signed in, and which view is shown.
import { createContext, type FunctionComponent } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { api, ApiError, base, messageOf, type Account, type Profile } from './api'
import { number } from './format'
import { follow } from './live'
import { silence } from './player'
import { Failed, Icon, Notice, Skeleton, Toasts, useResource, type Resource } from './ui'
import { Clips } from './views/clips'
import { Keys } from './views/keys'
import { Playground } from './views/playground'
import { Security } from './views/security'
import { Usage } from './views/usage'
import { Voices } from './views/voices'
import { Welcome } from './views/welcome'
import { words } from './words'

type View = keyof typeof words.views
const views: Record<View, FunctionComponent> = {
  playground: Playground, voices: Voices, clips: Clips, keys: Keys, usage: Usage, security: Security,
}
const names = Object.keys(views) as View[]

interface Signed { profile: Profile; account: Resource<Account> }
const SignedContext = createContext<Signed | null>(null)

// useSigned returns who is signed in, within the views.
export const useSigned = () => useContext(SignedContext)!

// go leads to a view.
export const go = (view: View) => { location.hash = '/' + view }

function useView(): View {
  const read = () => names.find(name => location.hash === '#/' + name) ?? 'playground'
  const [view, setView] = useState<View>(read)
  useEffect(() => {
    const changed = () => { silence(); setView(read()) }
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return view
}

function useOffline(): boolean {
  const [offline, setOffline] = useState(!navigator.onLine)
  useEffect(() => {
    const look = () => setOffline(!navigator.onLine)
    addEventListener('online', look)
    addEventListener('offline', look)
    return () => { removeEventListener('online', look); removeEventListener('offline', look) }
  }, [])
  return offline
}

type State = { kind: 'loading' } | { kind: 'stranger'; ended: boolean } | { kind: 'failed'; error: unknown }
  | { kind: 'signed'; profile: Profile }

export function App() {
  const [state, setState] = useState<State>({ kind: 'loading' })
  const load = async () => {
    try {
      setState({ kind: 'signed', profile: await api.profile() })
    } catch (error) {
      const stranger = error instanceof ApiError && (error.status === 401 || error.status === 404)
      setState(stranger ? { kind: 'stranger', ended: false } : { kind: 'failed', error })
    }
  }
  useEffect(() => {
    load()
    const ended = () => setState(old => old.kind === 'signed' ? { kind: 'stranger', ended: true } : old)
    addEventListener('signed-out', ended)
    return () => removeEventListener('signed-out', ended)
  }, [])
  const signOut = async () => {
    silence()
    await api.signOut()
    sessionStorage.clear()
    setState({ kind: 'stranger', ended: false })
  }
  return <>
    {state.kind === 'loading' && <main class="bare"><Skeleton rows={4} /></main>}
    {state.kind === 'failed' && <main class="bare"><Failed error={state.error} onRetry={load} /></main>}
    {state.kind === 'stranger' && <Welcome ended={state.ended} />}
    {state.kind === 'signed' && <Signed profile={state.profile} onSignOut={signOut} />}
    <Toasts />
  </>
}

function Signed({ profile, onSignOut }: { profile: Profile; onSignOut: () => Promise<void> }) {
  const account = useResource(api.account, ['account', 'usage'])
  useEffect(() => follow(base + 'v1/account/events'), [])
  const view = useView()
  const offline = useOffline()
  const main = useRef<HTMLElement>(null)
  const first = useRef(true)
  const [failure, setFailure] = useState('')
  useEffect(() => {
    document.title = `${words.views[view]} · ${words.product}`
    document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
    if (!first.current) {
      scrollTo(0, 0)
      main.current?.querySelector('h1')?.focus({ preventScroll: true })
    }
    first.current = false
  }, [view])
  const Shown = views[view]
  return <SignedContext.Provider value={{ profile, account }}>
    <div class="frame">
      <aside>
        <a class="skip" href={`#/${view}`} onClick={event => { event.preventDefault(); main.current?.focus() }}>{words.skip}</a>
        <div class="brand"><Logo />{words.product}</div>
        <nav aria-label={words.menu}>
          {names.map(name => <a key={name} href={`#/${name}`} aria-current={name === view ? 'page' : undefined}>
            <Icon name={name} /><span>{words.views[name]}</span>
          </a>)}
        </nav>
        <div class="foot">
          <Balance account={account.data} />
          <a href={new URL('docs', base).href}><Icon name="book" /><span>{words.documentation}</span></a>
          <button onClick={() => onSignOut().catch(error => setFailure(messageOf(error)))}>
            <Icon name="out" /><span>{words.signOut}</span>
          </button>
          {failure && <Notice kind="error">{failure}</Notice>}
          <div class="who" title={profile.email}><bdi>{profile.name}</bdi><small><bdi>{profile.email}</bdi></small></div>
        </div>
      </aside>
      <main ref={main} tabIndex={-1}>
        {offline && <Notice kind="warning">{words.offline}</Notice>}
        <Shown />
      </main>
    </div>
  </SignedContext.Provider>
}

// leftOf returns what is left of an account's plan, null where that is not limited.
export function leftOf(account: Account): number | null {
  const { plan, usage } = account
  if (plan.character_limit === null) return null
  return Math.max(0, plan.character_limit - usage.characters - usage.playground_characters) + usage.credit_characters
}

function Balance({ account }: { account: Account | undefined }) {
  const limit = account?.plan.character_limit
  if (!account || limit === null || limit === undefined) return null
  const left = leftOf(account)!
  return <div class="balance">
    <Meter value={limit - Math.min(limit, left)} max={limit} />
    <small>{words.leftOf(number(left), number(limit))}</small>
  </div>
}

export function Meter({ value, max }: { value: number; max: number }) {
  const share = max > 0 ? Math.min(1, value / max) : 0
  return <div class={`meter ${share >= 1 ? 'full' : share >= 0.8 ? 'near' : ''}`} aria-hidden="true">
    <div style={{ width: `${share * 100}%` }} />
  </div>
}

export function Logo() {
  return <svg class="logo" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
    <rect width="32" height="32" rx="8" />
    <path d="M8.5 14.5v3M13.5 9.5v13M18.5 12.5v7M23.5 15v2" />
  </svg>
}
