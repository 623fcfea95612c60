// The parts of views.
import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ApiError, messageOf } from './api'
import { ago, dateTime, utc } from './format'
import { listen, type Topic } from './live'
import { words } from './words'

// Resource is the data of a view. While data is undefined, it is loading, or has failed with an error.
export interface Resource<T> { data: T | undefined; error: unknown; reload: () => void }

// useResource loads the data of a view, and reloads it after changes of its topics and when again changes. Old data
// stays while it is reloaded.
export function useResource<T>(load: () => Promise<T>, topics: readonly Topic[], again = ''): Resource<T> {
  const [state, setState] = useState<{ data?: T; error?: unknown; key: string }>({ key: again })
  const latest = useRef(0)
  const reload = useCallback(() => {
    const mine = ++latest.current
    const isLatest = () => mine === latest.current
    load().then(
      data => { if (isLatest()) setState({ data, key: again }) },
      error => { if (isLatest()) setState(old => ({ ...old, error, key: again })) })
  }, [again])
  useEffect(() => {
    reload()
    const end = listen(topics, reload)
    return () => { latest.current++; end() }
  }, [reload])
  useRecovery(state.error, reload)
  return { data: state.data, error: state.error, reload }
}

// between is the interval of retries in milliseconds while the service is unreachable.
const between = 3000

// useRecovery retries after a failure that may pass. The browser reports when its network is back, but not when the
// service is.
export function useRecovery(error: unknown, again: () => void) {
  useEffect(() => {
    if (!(error instanceof ApiError && error.passes)) return
    const timer = setInterval(() => { if (!document.hidden) again() }, between * (1 + Math.random()))
    return () => clearInterval(timer)
  }, [error, again])
}

// Loaded shows a resource when it is loaded, and its state before.
export function Loaded<T>({ of, rows = 3, children }: {
  of: Resource<T>; rows?: number; children: (data: T) => ComponentChildren
}) {
  if (of.data !== undefined) {
    return <>
      {of.error !== undefined && <Notice kind="warning" onRetry={of.reload}>{messageOf(of.error)}</Notice>}
      {children(of.data)}
    </>
  }
  if (of.error !== undefined) return <Failed error={of.error} onRetry={of.reload} />
  return <Skeleton rows={rows} />
}

export function Failed({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const offline = error instanceof ApiError && error.offline
  return <div class="empty" role="alert">
    <Icon name={offline ? 'offline' : 'alert'} />
    <h2>{offline && !navigator.onLine ? words.offlineTitle : words.failedTitle}</h2>
    <p>{offline && !navigator.onLine ? words.offlineLead : messageOf(error)}</p>
    <button class="button" onClick={onRetry}>{words.retry}</button>
  </div>
}

export function Skeleton({ rows }: { rows: number }) {
  return <div class="skeleton" role="status" aria-label={words.loading}>
    {Array.from({ length: rows }, (_, i) => <div key={i} />)}
  </div>
}

export function Empty({ icon, title, lead, children }: {
  icon: IconName; title: string; lead?: string; children?: ComponentChildren
}) {
  return <div class="empty">
    <Icon name={icon} />
    <h2>{title}</h2>
    {lead && <p>{lead}</p>}
    {children}
  </div>
}

export function Notice({ kind, children, onRetry }: {
  kind: 'warning' | 'error' | 'info'; children: ComponentChildren; onRetry?: () => void
}) {
  return <div class={`notice ${kind}`} role={kind === 'info' ? 'status' : 'alert'}>
    <span>{children}</span>
    {onRetry && <button class="link" onClick={onRetry}>{words.retry}</button>}
  </div>
}

// Time shows a time in the reader's zone, and in UTC on hover.
export function Time({ at, relative }: { at: number | null; relative?: boolean }) {
  if (!at) return <>{words.none}</>
  const iso = new Date(at * 1000).toISOString()
  const title = relative ? `${dateTime(at)}\n${utc(at)}` : utc(at)
  return <time dateTime={iso} title={title}>{relative ? ago(at) : dateTime(at)}</time>
}

// Dialog is modal from its first paint, so that no key moves the focus behind it. Browsers keep the focus within it,
// and return it when the dialog closes.
export function Dialog({ title, onClose, children, wide }: {
  title: string; onClose: () => void; children: ComponentChildren; wide?: boolean
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const opened = dialog.current!
    const before = document.activeElement
    opened.showModal()
    return () => {
      opened.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return <dialog ref={dialog} class={wide ? 'wide' : ''} aria-labelledby={id}
    onCancel={event => { event.preventDefault(); onClose() }}
    onMouseDown={event => { if (event.target === dialog.current) onClose() }}>
    <div class="dialog">
      <header>
        <h2 id={id}>{title}</h2>
        <button class="icon" aria-label={words.close} onClick={onClose}><Icon name="close" /></button>
      </header>
      {children}
    </div>
  </dialog>
}

// Form runs an action on submit, and shows its progress or failure.
export function Form({ action, submit, danger, disabled, onCancel, children }: {
  action: () => Promise<void>; submit: string; danger?: boolean; disabled?: boolean; onCancel?: () => void
  children: ComponentChildren
}) {
  const [state, setState] = useState<{ busy: boolean; error?: unknown }>({ busy: false })
  const send = async (event: Event) => {
    event.preventDefault()
    if (state.busy) return
    setState({ busy: true })
    try {
      await action()
      setState({ busy: false })
    } catch (error) {
      setState({ busy: false, error })
    }
  }
  return <form onSubmit={send}>
    {children}
    {state.error !== undefined && <Notice kind="error">{messageOf(state.error)}</Notice>}
    <footer>
      {onCancel && <button type="button" class="button" onClick={onCancel}>{words.cancel}</button>}
      <button class={`button ${danger ? 'danger' : 'primary'}`} disabled={disabled || state.busy}
        aria-busy={state.busy}>
        {state.busy && <span class="spinner" />}{submit}
      </button>
    </footer>
  </form>
}

// ConfirmByTyping allows an irreversible action once a word is typed.
export function ConfirmByTyping({ title, lead, word, submit, action, onClose }: {
  title: string; lead: string; word: string; submit: string; action: () => Promise<void>; onClose: () => void
}) {
  const [typed, setTyped] = useState('')
  const [before, , after] = words.typeToConfirm(word)
  return <Dialog title={title} onClose={onClose}>
    <Form action={action} submit={submit} danger disabled={typed.trim() !== word} onCancel={onClose}>
      <p>{lead}</p>
      <label class="field">
        <span>{before}<strong class="word">{word}</strong>{after}</span>
        <input value={typed} autocomplete="off" spellcheck={false} onInput={e => setTyped(e.currentTarget.value)} />
      </label>
    </Form>
  </Dialog>
}

export function Field({ label, hint, children }: { label: string; hint?: string; children: ComponentChildren }) {
  return <label class="field">
    <span>{label}</span>
    {children}
    {hint && <small>{hint}</small>}
  </label>
}

export function Select<T extends string>({ value, options, onChange, label }: {
  value: T; options: [T, string][]; onChange: (value: T) => void; label?: string
}) {
  return <select aria-label={label} value={value} onChange={e => onChange(e.currentTarget.value as T)}>
    {options.map(([key, text]) => <option key={key} value={key} selected={key === value}>{text}</option>)}
  </select>
}

// Choice is a selection from a few options side by side.
export function Choice<T extends string>({ value, options, onChange, label }: {
  value: T; options: [T, string][]; onChange: (value: T) => void; label: string
}) {
  return <div class="choice" role="group" aria-label={label}>
    {options.map(([key, text]) =>
      <button key={key} type="button" aria-pressed={key === value} onClick={() => onChange(key)}>{text}</button>)}
  </div>
}

export function Copy({ text, label = words.copy }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text) // there is no clipboard in an insecure context
      setCopied(true)
      setTimeout(() => setCopied(false), 2000)
    } catch {
      toast(words.notCopied)
    }
  }
  return <button type="button" class="button small" onClick={copy}>
    <Icon name={copied ? 'check' : 'copy'} /><span aria-live="polite">{copied ? words.copied : label}</span>
  </button>
}

export function Header({ title, lead, children }: { title: string; lead: string; children?: ComponentChildren }) {
  return <header class="view-header">
    <div>
      <h1 tabIndex={-1}>{title}</h1>
      <p>{lead}</p>
    </div>
    {children && <div class="actions">{children}</div>}
  </header>
}

// Toasts are short messages. One of them may offer to undo its action.
interface Toast { id: number; text: string; undo?: (() => void) | undefined; failed?: boolean }
let show: (toast: Omit<Toast, 'id'>) => number = () => 0
let hide: (id: number) => void = () => {}

export const toast = (text: string) => { show({ text }) }
export const toastFailure = (error: unknown) => { show({ text: messageOf(error), failed: true }) }

const undoTime = 6000

// isHeld reports whether a message has the pointer or the keyboard focus.
const isHeld = () => document.querySelector('.toasts:is(:hover, :focus-within)') !== null

// undoable carries out an action after a delay in which it can be undone, or earlier when the page is left. The delay
// is longer while its message is held.
export function undoable(text: string, act: () => Promise<unknown>, undone: () => void) {
  let open = true
  const finish = () => {
    if (!open) return
    open = false
    hide(id)
    removeEventListener('pagehide', finish)
    act().catch(error => { undone(); toastFailure(error) })
  }
  const id = show({ text, undo: () => { open = false; removeEventListener('pagehide', finish); undone() } })
  addEventListener('pagehide', finish)
  const later = () => setTimeout(() => { if (open && isHeld()) later(); else finish() }, undoTime)
  later()
}

// isWritten reports whether an element is a text field, which handles the undo keys itself.
const isWritten = (at: EventTarget | null) =>
  at instanceof Element && at.matches('textarea, input:not([type=checkbox], [type=range])')

export function Toasts() {
  const [toasts, setToasts] = useState<Toast[]>([])
  const last = useRef(0)
  useEffect(() => {
    hide = id => setToasts(all => all.filter(one => one.id !== id))
    show = one => {
      const id = ++last.current
      setToasts(all => [...all.slice(-2), { ...one, id }])
      if (!one.undo) setTimeout(() => hide(id), one.failed ? 8000 : 4000)
      return id
    }
  }, [])
  const undo = (one: Toast) => { hide(one.id); one.undo!() }
  const shown = useRef(toasts)
  shown.current = toasts // an effect would run after the paint, and a key could come before it
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const undoes = event.key === 'z' && (event.ctrlKey || event.metaKey) && !event.shiftKey
      const latest = undoes && !isWritten(event.target) ? shown.current.findLast(one => one.undo) : undefined
      if (!latest) return
      event.preventDefault()
      undo(latest)
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])
  return <div class="toasts" role="status" aria-live="polite">
    {toasts.map(one => <div key={one.id} class={`toast ${one.failed ? 'failed' : ''}`}>
      <span>{one.text}</span>
      {one.undo && <button class="link" aria-label={words.undo} aria-keyshortcuts="Control+Z Meta+Z"
        onClick={() => undo(one)}>
        {words.undo} <kbd aria-hidden="true">{words.undoKeys}</kbd></button>}
    </div>)}
  </div>
}

const icons = {
  playground: 'M4 10v4M8 6v12M12 9v6M16 4v16M20 10v4',
  voices: 'M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM6 11a6 6 0 0 0 12 0M12 17v4M9 21h6',
  clips: 'M5 5h14v14H5zM10 9l5 3-5 3z',
  keys: 'M14.5 9.5a4 4 0 1 0-4 4l1.5-.4V15h2v2h2v2h3v-3.5l-4.8-4.8z',
  billing: 'M3 6h18v12H3zM3 10h18M7 15h4',
  pronunciations: 'M4 5h9M8.5 3v2M11 5c-.6 4-3 7-6 8.5M6.5 8c1 2.5 3 4.5 5.5 5.5M12 21l4-10 4 10M13.5 17.5h5',
  usage: 'M4 20V10M10 20V4M16 20v-7M21 20H3',
  security: 'M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6z',
  close: 'M6 6l12 12M18 6L6 18',
  check: 'M5 13l4 4L19 7',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  alert: 'M12 4l9 16H3zM12 10v4M12 17v.5',
  offline: 'M3 3l18 18M5 10a10 10 0 0 1 4-2.4M12 7a10 10 0 0 1 7 3M8.5 14a5 5 0 0 1 6 .5M12 18v.5',
  play: 'M7 5l12 7-12 7z',
  pause: 'M8 5v14M16 5v14',
  star: 'M12 4l2.4 5 5.6.7-4.1 3.8 1.1 5.5-5-2.8-5 2.8 1.1-5.5L4 9.7 9.6 9z',
  search: 'M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM16.2 16.2L21 21',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
  download: 'M12 4v11M7 11l5 5 5-5M4 20h16',
  plus: 'M12 5v14M5 12h14',
  chevron: 'M8 10l4 4 4-4',
  out: 'M10 4H5v16h5M14 8l4 4-4 4M18 12H9',
  book: 'M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11',
  stop: 'M7 7h10v10H7z',
  overview: 'M4 4h6v9H4zM14 11h6v9h-6zM4 17h6v3H4zM14 4h6v3h-6z',
  models: 'M12 3l8 4.5-8 4.5-8-4.5zM4 12l8 4.5 8-4.5M4 16.5L12 21l8-4.5',
  accounts: 'M12 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM4 20c1-4 4-6 8-6s7 2 8 6',
  log: 'M5 6h14M5 12h14M5 18h9',
  audit: 'M6 3h9l4 4v14H6zM9 14l2 2 4-4',
}
export type IconName = keyof typeof icons

export function Icon({ name }: { name: IconName }) {
  const filled = name === 'play' || name === 'stop'
  return <svg class={filled ? 'glyph filled' : 'glyph'} viewBox="0 0 24 24" width="18" height="18" aria-hidden="true">
    <path d={icons[name]} /></svg>
}

export function StarButton({ on, name, onClick }: { on: boolean; name: string; onClick: () => void }) {
  return <button type="button" class={`icon ${on ? 'starred' : ''}`} aria-pressed={on}
    aria-label={on ? words.voices.unstar(name) : words.voices.star(name)} onClick={onClick}>
      <Icon name="star" /></button>
}
