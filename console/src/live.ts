// Data is read again after changes. Actions on this page announce their changes, and everything is read again when the
// tab becomes visible. follow adds changes by other tabs, browsers and programs.
export type Topic = 'account' | 'voices' | 'clips' | 'sessions' | 'usage' | 'billing' | 'pronunciations' | 'operators'

const listeners = new Map<() => void, readonly Topic[]>()

// listen calls again after changes of the topics. Its result stops that.
export function listen(topics: readonly Topic[], again: () => void): () => void {
  listeners.set(again, topics)
  return () => { listeners.delete(again) }
}

export function announce(...topics: Topic[]) {
  for (const [again, about] of [...listeners]) {
    if (about.some(topic => topics.includes(topic))) again()
  }
}

export const everything: Topic[] =
  ['account', 'voices', 'clips', 'sessions', 'usage', 'billing', 'pronunciations', 'operators']

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') announce(...everything)
})
addEventListener('online', () => announce(...everything))

// topicsOf returns the topics of a change that the service reports.
const topicsOf: Record<string, Topic[]> = {
  account: ['account'], billing: ['account', 'usage', 'billing'], keys: ['account'], usage: ['account', 'usage'],
  clips: ['clips'], sessions: ['sessions'], voices: ['voices'],
}

// afterFirstView is in milliseconds. The stream waits for the first view to load.
const afterFirstView = 2000

// afterRefusal is in milliseconds. A refused stream is retried then.
const afterRefusal = 10_000

// known is the log's position in the first reply. The stream starts there, so that it misses no change.
let known = ''
export function note(response: Response) { known ||= response.headers.get('x-recital-position') ?? '' }

// follow announces the changes of a stream, until its result is called. One visible tab of the browser has the stream,
// and informs the others.
export function follow(address: string): () => void {
  const tabs = new BroadcastChannel('recital-changes')
  tabs.onmessage = event => announce(...event.data as Topic[])
  let leave = () => {}
  const look = () => {
    leave()
    leave = document.hidden ? () => {} : lead(address, topics => { announce(...topics); tabs.postMessage(topics) })
  }
  const begin = setTimeout(look, afterFirstView)
  document.addEventListener('visibilitychange', look)
  return () => {
    clearTimeout(begin)
    document.removeEventListener('visibilitychange', look)
    leave()
    tabs.close()
  }
}

// lead opens the stream when no other tab has it, until its result is called.
function lead(address: string, tell: (topics: Topic[]) => void): () => void {
  const over = new AbortController()
  const stream = () => new Promise<void>(done => {
    let source: EventSource, timer = 0
    let first = known === '' // the first view has read the start of a new stream
    const open = () => {
      source = new EventSource(known === '' ? address : `${address}?after=${encodeURIComponent(known)}`)
      for (const [name, topics] of Object.entries(topicsOf)) source.addEventListener(name, () => tell(topics))
      source.addEventListener('reset', () => { if (!first) tell(everything); first = false })
      source.addEventListener('error', () => {
        if (source.readyState !== EventSource.CLOSED) return // the browser reconnects by itself
        tell(['account']) // its refusal shows whether the session has ended
        timer = setTimeout(open, afterRefusal)
      })
    }
    over.signal.addEventListener('abort', () => { clearTimeout(timer); source.close(); done() })
    open()
  })
  // Browsers have no locks over plain http, so each visible tab has a stream there.
  if (navigator.locks) navigator.locks.request('recital-changes', { signal: over.signal }, stream).catch(() => {})
  else stream()
  return () => over.abort()
}
