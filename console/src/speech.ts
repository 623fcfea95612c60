// Making a sound, which plays while it is made. The socket sends the times of its words along with it. Without the
// socket, they are requested when the audio is complete.
import { base, here, send, type WordTime } from './api'
import { converse, NoSocketError, type Talk } from './converse'
import { countCharacters } from './format'
import { canStream, ElementTrack, type Track } from './track'

export interface Settings {
  text: string; voice: string; model: string; language: string; speed: number; variation: string; seed: string
}

export const maxCharacters = 5000

// order returns the body of a request with the settings. It omits defaults.
export function order(s: Settings, format: string): Record<string, unknown> {
  return {
    text: s.text, voice: s.voice, format,
    ...(s.model !== 'aurora' && { model: s.model }),
    ...(s.language !== 'auto' && { language: s.language }),
    ...(s.speed !== 1 && { speed: s.speed }),
    ...(s.variation && { temperature: Number(s.variation) }),
    ...(s.seed && { seed: Number(s.seed) }),
  }
}

export interface Sound {
  id: number
  track: Track
  seed: string
  characters: number
  remaining: number | null // null if unknown
  complete: Promise<{ blob: Blob; times: WordTime[] }>
}

let sounds = 0
const mp3 = 'audio/mpeg'

export const isMarkup = (text: string) => text.trimStart().startsWith('<speak')

// speak resolves when audio starts. more is called with the times of words that are known before the sound is complete.
export async function speak(settings: Settings, signal: AbortSignal, more: (times: WordTime[]) => void):
  Promise<Sound> {
  if (canStream() && socketsWork && !isMarkup(settings.text)) { // the socket treats markup as text
    try {
      return await throughSocket(settings, signal, more)
    } catch (error) {
      if (!(error instanceof NoSocketError)) throw error
      socketsWork = false
    }
  }
  return await overHTTP(settings, signal)
}

let socketsWork = true

async function throughSocket(settings: Settings, signal: AbortSignal, more: (times: WordTime[]) => void):
  Promise<Sound> {
  const { sound, talk } = await live(settings, signal, more)
  talk.say(settings.text)
  talk.finish()
  await talk.begun.catch(error => { talk.track.release(); throw error })
  return { ...sound, characters: countCharacters(settings.text) }
}

// live returns a sound that grows with the text that is sent.
export async function live(
  settings: Settings, signal: AbortSignal, more: (times: WordTime[]) => void,
): Promise<{ sound: Sound; talk: Talk }> {
  const seed = settings.seed || String(crypto.getRandomValues(new Uint32Array(1))[0])
  let times: WordTime[] = []
  const talk = await converse(settings, seed, signal, known => { times = known; more(known) })
  const complete = talk.over.then(() => ({ blob: talk.track.file(), times }))
  complete.catch(() => {})
  return { sound: { id: ++sounds, track: talk.track, seed, characters: 0, remaining: null, complete }, talk }
}

async function overHTTP(settings: Settings, signal: AbortSignal): Promise<Sound> {
  const body = { ...order(settings, 'mp3'), return_durations: true }
  const response = await send('POST', 'v1/ai/speech/bytes', body, signal)
  const header = (name: string) => response.headers.get(name)
  const read = streams() ? feed(response.body!) : whole(response)
  const { address, blob } = await read
  const remaining = header('x-characters-remaining')
  return {
    id: ++sounds, track: new ElementTrack(address), seed: header('x-seed') ?? '',
    characters: Number(header('x-character-count') ?? 0), remaining: remaining === null ? null : Number(remaining),
    complete: blob.then(async whole => ({ blob: whole, times: await timesAt(header('x-timestamps-url'), signal) })),
  }
}

const streams = () => 'MediaSource' in window && MediaSource.isTypeSupported(mp3)

interface Reading { address: string; blob: Promise<Blob> }

async function whole(response: Response): Promise<Reading> {
  const blob = new Blob([await response.arrayBuffer()], { type: mp3 })
  return { address: URL.createObjectURL(blob), blob: Promise.resolve(blob) }
}

// feed passes audio to the browser as it arrives.
async function feed(body: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<Reading> {
  const source = new MediaSource()
  const address = URL.createObjectURL(source)
  const opened = new Promise(done => source.addEventListener('sourceopen', done, { once: true }))
  const blob = (async () => {
    const parts: Uint8Array<ArrayBuffer>[] = []
    const reader = body.getReader()
    let buffer: SourceBuffer | undefined
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      parts.push(value)
      await opened
      buffer ??= source.addSourceBuffer(mp3)
      await append(buffer, value)
    }
    await opened
    if (source.readyState === 'open') source.endOfStream()
    return new Blob(parts, { type: mp3 })
  })()
  blob.catch(() => { if (source.readyState === 'open') source.endOfStream('network') })
  return { address, blob }
}

function append(buffer: SourceBuffer, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  return new Promise((done, fail) => {
    buffer.addEventListener('updateend', () => done(), { once: true })
    buffer.addEventListener('error', () => fail(new Error('the browser cannot play this')), { once: true })
    buffer.appendBuffer(bytes)
  })
}

// timesAt reads the times of the words, which are available shortly after the audio.
async function timesAt(address: string | null, signal: AbortSignal): Promise<WordTime[]> {
  for (let attempt = 0; address && attempt < 10; attempt++) {
    const response = await fetch(here(address), { signal }).catch(() => null)
    if (response?.ok) return (await response.json()).durations
    await new Promise(done => setTimeout(done, 300))
  }
  return []
}

// inFormat makes the sound again in another format.
export async function inFormat(settings: Settings, format: string): Promise<Blob> {
  return await (await send('POST', 'v1/ai/speech/bytes', order(settings, format))).blob()
}

export const extensions: Record<string, string> = {
  mp3: 'mp3', wav: 'wav', aac: 'aac', webm: 'webm', ulaw: 'wav', pcm_s16le: 'pcm', pcm_f32le: 'pcm',
}

// Outline is a sound's waveform: the loudest samples of equal parts, from 0 to 1, and its length in seconds.
export interface Outline { peaks: number[]; seconds: number }

export async function outlineOf(blob: Blob, parts: number): Promise<Outline> {
  const decoded = await new OfflineAudioContext(1, 1, 24000).decodeAudioData(await blob.arrayBuffer())
  const samples = decoded.getChannelData(0)
  const length = Math.max(1, Math.floor(samples.length / parts))
  const peaks = Array.from({ length: parts }, (_, i) => {
    let peak = 0
    for (let k = i * length; k < Math.min(samples.length, (i + 1) * length); k += 4)
      peak = Math.max(peak, Math.abs(samples[k]!))
    return peak
  })
  const loudest = Math.max(...peaks, 0.01)
  return { peaks: peaks.map(peak => peak / loudest), seconds: decoded.duration }
}

export const service = () => base.href.replace(/\/$/, '')
