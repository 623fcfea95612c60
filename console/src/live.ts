// What is shown is read again after a change. Changes of this page are announced by what makes them, and everything is
// read again when the tab becomes visible. follow adds what other tabs, browsers and programs change.
export type Topic = 'account' | 'voices' | 'clips' | 'sessions' | 'usage' | 'billing' | 'pronunciations' | 'operators'

const listeners = new Map<() => void, readonly Topic[]>()

// listen calls again after changes of the topics, and returns what ends that.
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

// topicsOf are the topics of what the service says has changed.
const topicsOf: Record<string, Topic[]> = {
  account: ['account'], billing: ['account', 'usage', 'billing'], keys: ['account'], usage: ['account', 'usage'],
  clips: ['clips'], sessions: ['sessions'], voices: ['voices'],
}

// afterFirstView is in milliseconds: the stream waits for what is shown first.
const afterFirstView = 2000

// afterRefusal is in milliseconds: a stream that was refused is tried again then.
const afterRefusal = 10_000

// known is the position in the log that the first reply has shown: the stream begins there, so that nothing is missed.
let known = ''
export function note(response: Response) { known ||= response.headers.get('x-recital-position') ?? '' }

// follow announces the events of a stream, until its result is called. One visible tab of the browser has the stream,
// and tells the others.
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

// lead has the stream from when no other tab has it, until its result is called.
function lead(address: string, tell: (topics: Topic[]) => void): () => void {
  const over = new AbortController()
  const stream = () => new Promise<void>(done => {
    let source: EventSource, timer = 0
    let first = known === '' // of a new stream, whose beginning the first view has read
    const open = () => {
      source = new EventSource(known === '' ? address : `${address}?after=${encodeURIComponent(known)}`)
      for (const [name, topics] of Object.entries(topicsOf)) source.addEventListener(name, () => tell(topics))
      source.addEventListener('reset', () => { if (!first) tell(everything); first = false })
      source.addEventListener('error', () => {
        if (source.readyState !== EventSource.CLOSED) return // the browser connects again by itself
        tell(['account']) // whose refusal says whether the session is over
        timer = setTimeout(open, afterRefusal)
      })
    }
    over.signal.addEventListener('abort', () => { clearTimeout(timer); source.close(); done() })
    open()
  })
  // Browsers have no locks over plain http: then each visible tab has a stream.
  if (navigator.locks) navigator.locks.request('recital-changes', { signal: over.signal }, stream).catch(() => {})
  else stream()
  return () => over.abort()
}
