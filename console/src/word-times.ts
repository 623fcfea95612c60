// The times of words as files.
import { send, type WordTime } from './api'

// timesOf requests the positions of a text's words in a recording of it. Text between words, such as spaces, has no
// duration.
export async function timesOf(text: string, language: string | null, sound: Blob,
  signal: AbortSignal): Promise<WordTime[]> {
  const form = new FormData()
  form.set('text', text)
  if (language) form.set('language', language)
  form.set('audio', sound, 'clip')
  const found = await (await send('POST', 'v1/ai/speech/kanna_improved', form, signal)).json() as WordTime[]
  return between(text, found)
}

// between adds the text between words.
export function between(text: string, found: WordTime[]): WordTime[] {
  const all: WordTime[] = []
  let at = 0, time = 0
  for (const word of found) {
    const begin = text.indexOf(word.text, at)
    if (begin < 0) continue
    if (begin > at) all.push({ text: text.slice(at, begin), start: time, duration: 0 })
    all.push({ text: word.text, start: word.start, duration: word.duration })
    at = begin + word.text.length
    time = word.start + word.duration
  }
  if (at < text.length) all.push({ text: text.slice(at), start: time, duration: 0 })
  return all
}

const isWord = (word: WordTime) => /[\p{L}\p{N}]/u.test(word.text)

export const asText = (times: WordTime[]) =>
  times.filter(isWord).map(word => `${word.start.toFixed(3)}\t${word.duration.toFixed(3)}\t${word.text}\n`).join('')

export const asJSON = (times: WordTime[]) => JSON.stringify(
  times.filter(isWord).map(({ text, start, duration }) => ({ text, start, duration })), null, 2) + '\n'

const longest = 7, widest = 80 // maximum seconds and characters of a subtitle

// asSRT splits the text into subtitles: at the ends of sentences, and where they would become too long.
export function asSRT(times: WordTime[]): string {
  const titles: { start: number; end: number; text: string }[] = []
  let now: { start: number; end: number; text: string } | undefined
  for (const word of times) {
    if (now && isWord(word) && (/[.!?…。！？]\s*$/u.test(now.text) || word.start + word.duration - now.start > longest ||
      now.text.length + word.text.length > widest)) now = undefined
    if (!now && isWord(word)) titles.push(now = { start: word.start, end: 0, text: '' })
    if (!now) continue
    now.text += word.text
    now.end = Math.max(now.end, word.start + word.duration)
  }
  return titles.map((title, i) => `${i + 1}\n${stamp(title.start)} --> ${stamp(title.end)}\n${title.text.replace(/\s+/g,
    ' ').trim()}\n`).join('\n')
}

// stamp formats a time for SubRip.
function stamp(seconds: number): string {
  const ms = Math.round(seconds * 1000)
  const two = (n: number) => String(Math.floor(n)).padStart(2, '0')
  return `${two(ms / 3_600_000)}:${two(ms / 60_000 % 60)}:${two(ms / 1000 % 60)},${String(ms % 1000).padStart(3, '0')}`
}
