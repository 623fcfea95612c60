import { useEffect, useState } from 'preact/hooks'
import { useSigned } from '../app'
import { Icon } from '../ui'
import { words } from '../words'

const w = words.firstSteps
type Step = keyof typeof w.steps
const steps: [Step, string][] = [['sound', '#/playground'], ['key', '#/keys'], ['voice', '#/voices']]

// Kept is stored in the browser, because usage restarts with each period and keys can be revoked.
interface Kept { hidden?: boolean; done: Step[] }

// FirstSteps are shown until they are done or dismissed. Their space is reserved before the account is loaded, so that
// the page does not shift.
export function FirstSteps() {
  const { profile, account: { data: account } } = useSigned()
  const key = 'first-steps-' + profile.id
  const [kept, setKept] = useState<Kept>(() => JSON.parse(localStorage.getItem(key) ?? '{"done":[]}') as Kept)
  const keep = (next: Kept) => { localStorage.setItem(key, JSON.stringify(next)); setKept(next) }
  const [begun] = useState(kept)
  useEffect(() => {
    if (!account) return
    const now: Record<Step, boolean> = {
      sound: account.usage.playground_characters + account.usage.characters > 0,
      key: (account.apikeys?.length ?? 0) > 0, voice: (account.usage.instant_voices ?? 0) > 0,
    }
    const done = steps.map(([step]) => step).filter(step => now[step] || kept.done.includes(step))
    if (done.length > kept.done.length) keep({ ...kept, done })
  }, [account])
  const all = kept.done.length === steps.length
  if (kept.hidden || begun.done.length === steps.length) return null
  return <section class="card first-steps" aria-labelledby="first-steps">
    <header>
      <h2 id="first-steps">{all ? w.allDone : w.title}</h2>
      <button class="icon" aria-label={w.dismiss} onClick={() => keep({ ...kept, hidden: true })}>
        <Icon name="close" /></button>
    </header>
    <ol>
      {steps.map(([step, address], i) => {
        const done = kept.done.includes(step)
        return <li key={step} class={done ? 'done' : ''}>
          <span class="step-mark" aria-hidden="true">{done ? <Icon name="check" /> : i + 1}</span>
          <div><a href={address} onClick={() => document.getElementById('text')?.focus()}>{w.steps[step][0]}</a>
            {done && <span class="hidden"> ({w.done})</span>}
            <small>{w.steps[step][1]}</small></div>
        </li>
      })}
    </ol>
  </section>
}
