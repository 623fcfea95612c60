// Speaking through the socket, with the session's cookie. It sends text as it is written, and receives samples and the
// times of words as they are made.
import { ApiError, base, type WordTime } from './api'
import { order, type Settings } from './speech'
import { SampleTrack, withoutHeader } from './track'
import { words } from './words'

// Talk is a session on the socket.
export interface Talk {
  track: SampleTrack
  say: (text: string) => void
  flush: () => void // speaks the text so far
  finish: () => void // speaks the rest and ends
  begun: Promise<void> // resolves when audio arrives
  over: Promise<void> // resolves when all audio has arrived
}

// NoSocketError means that sockets do not work here, for any reason.
export class NoSocketError extends Error {}

interface Told {
  type: 'ready' | 'timestamps' | 'flush_complete' | 'error'; timestamps?: WordTime[]
  error?: { type: string; message: string }
}

interface Promised { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void }

// promised returns a promise with its functions. Its rejection may stay unhandled.
function promised(): Promised {
  let resolve = () => {}, reject: Promised['reject'] = () => {}
  const promise = new Promise<void>((done, fail) => { resolve = done; reject = fail })
  promise.catch(() => {})
  return { promise, resolve, reject }
}

// converse resolves when the service is ready. more is called with the times of all words since the last flush was
// done.
export async function converse(
  settings: Settings, seed: string, signal: AbortSignal, more: (times: WordTime[]) => void,
): Promise<Talk> {
  const address = new URL('v1/ai/speech/stream', base)
  address.protocol = address.protocol.replace('http', 'ws')
  const track = await SampleTrack.open().catch(() => { throw new NoSocketError() })
  if (signal.aborted) throw new DOMException('', 'AbortError')
  const socket = new WebSocket(address)
  socket.binaryType = 'arraybuffer'
  const tell = (message: object) => { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)) }
  const { text: _, ...rest } = order({ ...settings, seed }, 'wav')
  const ready = promised(), begun = promised(), over = promised()
  const times: WordTime[] = []
  let before = 0 // seconds of audio before the start of the current times
  let isReady = false
  const fail = (error: Error) => {
    track.finish()
    for (const one of [ready, begun, over]) one.reject(error)
  }
  socket.onopen = () => tell({ type: 'init', 'lmnt-version': '1.2', return_timestamps: true, ...rest })
  socket.onmessage = event => {
    if (event.data instanceof ArrayBuffer) {
      track.add(withoutHeader(event.data))
      if (!track.empty) begun.resolve()
      return
    }
    const told = JSON.parse(event.data) as Told
    if (told.type === 'ready') { isReady = true; ready.resolve() }
    if (told.type === 'flush_complete') before = track.length
    if (told.type === 'error') {
      if (told.error?.type === 'authentication_error') dispatchEvent(new Event('signed-out'))
      fail(new ApiError(400, told.error?.message ?? words.refused(400)))
    }
    if (told.timestamps) {
      times.push(...told.timestamps.map(word => ({ ...word, start: word.start + before })))
      more([...times])
    }
  }
  socket.onclose = event => {
    if (event.code !== 1000) fail(isReady ? new ApiError(0, words.unreachable) : new NoSocketError())
    track.finish()
    begun.resolve()
    over.resolve()
  }
  signal.addEventListener('abort', () => {
    socket.onmessage = null
    socket.close()
    fail(new DOMException('', 'AbortError'))
  })
  const patience = setTimeout(() => {
    if (!isReady) { socket.onmessage = null; socket.close(); fail(new NoSocketError()) }
  }, toOpen)
  await ready.promise.finally(() => clearTimeout(patience)).catch(error => { track.release(); throw error })
  return {
    track, begun: begun.promise, over: over.promise,
    say: text => tell({ type: 'text', text }),
    flush: () => tell({ type: 'flush' }),
    finish: () => tell({ type: 'finish' }),
  }
}

// toOpen is the timeout in milliseconds for opening a socket, because some proxies never answer.
const toOpen = 8000
