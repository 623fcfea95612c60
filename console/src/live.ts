// What is shown is read again after a change. Changes of this page are announced by what makes them, and everything is
// read again when the tab becomes visible. A stream of the service's events can call announce, too.
export type Topic = 'account' | 'voices' | 'clips' | 'sessions' | 'usage'

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

export const everything: Topic[] = ['account', 'voices', 'clips', 'sessions', 'usage']

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') announce(...everything)
})
addEventListener('online', () => announce(...everything))
