// The parts that both pages share: sign-in, the list of views, and meters.
import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from './api'
import { Logo } from './logo'
import { Icon, Notice, useRecovery, type IconName } from './ui'
import { words } from './words'

export type SignIn<T> = { kind: 'loading' } | { kind: 'stranger'; ended: boolean } | { kind: 'failed'; error: unknown }
  | { kind: 'signed'; profile: T }

// useSignIn returns the signed-in person, and detects the end of the session.
export function useSignIn<T>(who: () => Promise<T>): [SignIn<T>, (state: SignIn<T>) => void, () => Promise<void>] {
  const [state, setState] = useState<SignIn<T>>({ kind: 'loading' })
  const load = useCallback(async () => {
    try {
      setState({ kind: 'signed', profile: await who() })
    } catch (error) {
      const stranger = error instanceof ApiError && (error.status === 401 || error.status === 404)
      setState(stranger ? { kind: 'stranger', ended: false } : { kind: 'failed', error })
    }
  }, [])
  useEffect(() => {
    load()
    const ended = () => setState(old => old.kind === 'signed' ? { kind: 'stranger', ended: true } : old)
    addEventListener('signed-out', ended)
    return () => removeEventListener('signed-out', ended)
  }, [])
  useRecovery(state.kind === 'failed' ? state.error : undefined, load)
  return [state, setState, load]
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

// Entry is a view in the list of views.
export interface Entry { name: string; label: string; icon: IconName }

// Frame shows a view with the list of views and a foot.
export function Frame({ entries, view, foot, children }: {
  entries: Entry[]; view: string; foot: ComponentChildren; children: ComponentChildren
}) {
  const offline = useOffline()
  const main = useRef<HTMLElement>(null)
  const first = useRef(true)
  useEffect(() => {
    document.title = `${entries.find(entry => entry.name === view)?.label} · ${words.product}`
    document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
    if (!first.current) {
      scrollTo(0, 0)
      main.current?.querySelector('h1')?.focus({ preventScroll: true })
    }
    first.current = false
  }, [view])
  return <div class="frame">
    <aside>
      <a class="skip" href={`#/${view}`}
        onClick={event => { event.preventDefault(); main.current?.focus() }}>{words.skip}</a>
      <div class="brand"><Logo />{words.product}</div>
      <nav aria-label={words.menu}>
        {entries.map(({ name, label, icon }) => <a key={name} href={`#/${name}`}
          aria-current={name === view ? 'page' : undefined}>
          <Icon name={icon} /><span>{label}</span>
        </a>)}
      </nav>
      <div class="foot">{foot}</div>
    </aside>
    <main ref={main} tabIndex={-1}>
      {offline && <Notice kind="warning">{words.offline}</Notice>}
      {children}
    </main>
  </div>
}

// Meter shows how full something is. It warns near the end, unless it is plain progress.
export function Meter({ value, max, plain }: { value: number; max: number; plain?: boolean }) {
  const share = max > 0 ? Math.min(1, value / max) : 0
  return <div class={`meter ${plain ? '' : share >= 1 ? 'full' : share >= 0.8 ? 'near' : ''}`} aria-hidden="true">
    <div style={{ width: `${share * 100}%` }} />
  </div>
}
