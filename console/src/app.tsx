// The page: sign-in and the current view.
import { createContext, type FunctionComponent } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import { api, base, messageOf, type Account, type Profile } from './api'
import { number } from './format'
import { Frame, Meter, useSignIn } from './frame'
import { follow } from './live'
import './styles/account.css'
import { silence } from './player'
import { Failed, Icon, Notice, Skeleton, Toasts, useResource, type Resource } from './ui'
import { Billing } from './views/billing'
import { Clips } from './views/clips'
import { FirstSteps } from './views/first-steps'
import { Keys } from './views/keys'
import { Playground } from './views/playground'
import { Pronunciations } from './views/pronunciations'
import { Security } from './views/security'
import { Usage } from './views/usage'
import { Voices } from './views/voices'
import { Welcome } from './views/welcome'
import { words } from './words'

export { Meter } from './frame'

type View = keyof typeof words.views
const views: Record<View, FunctionComponent> = {
  playground: Playground, voices: Voices, clips: Clips, keys: Keys, usage: Usage, billing: Billing,
  pronunciations: Pronunciations, security: Security,
}
const names = Object.keys(views) as View[]
const entries = names.map(name => ({ name, label: words.views[name], icon: name }))

interface Signed { profile: Profile; account: Resource<Account> }
const SignedContext = createContext<Signed | null>(null)

// useSigned returns the signed-in person within the views.
export const useSigned = () => useContext(SignedContext)!

// go opens a view.
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

export function App() {
  const [state, setState, load] = useSignIn(api.profile)
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
  const [failure, setFailure] = useState('')
  const Shown = views[view]
  return <SignedContext.Provider value={{ profile, account }}>
    <Frame entries={entries} view={view} foot={<>
      <Balance account={account.data} />
      <a href={new URL('docs', base).href}><Icon name="book" /><span>{words.documentation}</span></a>
      <button onClick={() => onSignOut().catch(error => setFailure(messageOf(error)))}>
        <Icon name="out" /><span>{words.signOut}</span>
      </button>
      {failure && <Notice kind="error">{failure}</Notice>}
      <div class="who" title={profile.email}><bdi>{profile.name}</bdi><small><bdi>{profile.email}</bdi></small></div>
    </>}>
      {view === 'playground' && <FirstSteps />}
      <Shown />
    </Frame>
  </SignedContext.Provider>
}

// leftOf returns the rest of an account's plan, or null if it is unlimited.
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
