// A sound with its waveform, and with words that light up as they are spoken.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { WordTime } from './api'
import { clock } from './format'
import { outlineOf } from './speech'
import { SampleTrack, type Track } from './track'
import { Icon } from './ui'
import { words } from './words'

const w = words.playground

// Playable is a sound for the player. It has a blob when it is complete.
export interface Playable { track: Track; text: string; blob?: Blob | undefined; times?: WordTime[] | undefined }

const bars = 96

// useTrack re-renders with a track: continuously while it plays, otherwise on its events.
function useTrack(track: Track): { at: number; length: number; playing: boolean } {
  const [, look] = useState(0)
  useEffect(() => track.watch(() => look(n => n + 1)), [track])
  useEffect(() => {
    if (!track.playing) return
    let frame = 0
    const tick = () => { look(n => n + 1); frame = requestAnimationFrame(tick) }
    tick()
    return () => cancelAnimationFrame(frame)
  }, [track, track.playing])
  return { at: track.at, length: track.length ?? 0, playing: track.playing }
}

function usePeaks({ track, blob }: Playable, length: number): number[] | undefined {
  const [peaks, setPeaks] = useState<number[]>()
  const own = useMemo(() => track instanceof SampleTrack ? track.peaks(bars) : undefined, [track, length])
  useEffect(() => {
    if (blob && !(track instanceof SampleTrack))
      outlineOf(blob, bars).then(({ peaks }) => setPeaks(peaks), () => setPeaks(undefined))
  }, [track, blob])
  return own ?? peaks
}

export function SoundPlayer({ of, silent }: { of: Playable; silent?: boolean }) {
  const { track, times, text } = of
  const { at, length, playing } = useTrack(track)
  const peaks = usePeaks(of, length)
  useEffect(() => { if (!silent) track.play() }, [track])
  const from = (to: number) => { track.seek(to); track.play() }
  return <>
    <div class="player">
      <button class="round" aria-label={playing ? w.pause : w.play}
        onClick={() => playing ? track.pause() : track.play()}>
        <Icon name={playing ? 'pause' : 'play'} />
      </button>
      <div class="wave">
        <Wave peaks={peaks} share={length ? at / length : 0} />
        <input type="range" min="0" max={length || 1} step="0.05" value={length ? at : 0} disabled={!length}
          aria-label={w.position}
          aria-valuetext={w.ofSeconds(clock(at), clock(length))}
          onInput={e => track.seek(Number(e.currentTarget.value))} />
      </div>
      <span class="time">{clock(at)} / {length ? clock(length) : '–:––'}</span>
    </div>
    {times && times.length > 0
      ? <Transcript times={times} text={text} at={at} onSeek={from} />
      : text && <p class="transcript" dir="auto" tabIndex={0} role="group" aria-label={w.spoken}>{text}</p>}
  </>
}

function Wave({ peaks, share }: { peaks: number[] | undefined; share: number }) {
  return <svg viewBox={`0 0 ${bars * 4} 48`} preserveAspectRatio="none" aria-hidden="true">
    {Array.from({ length: bars }, (_, i) => {
      const tall = Math.max(3, (peaks?.[i] ?? 0.06) * 44)
      return <rect key={i} class={i / bars < share ? 'past' : ''} x={i * 4 + 0.75} y={24 - tall / 2} width={2.5}
        height={tall} rx={1.2} />
    })}
  </svg>
}

// isWord reports whether a part of the text is spoken, and not a pause.
const isWord = (part: WordTime) => /[^\s\p{P}]/u.test(part.text)

// spoken returns the index of the word that is spoken at a time, or -1.
export function spoken(times: WordTime[], at: number): number {
  let found = -1
  for (const [i, word] of times.entries()) {
    if (word.start > at) break
    if (isWord(word)) found = i
  }
  return found
}

// Transcript marks words directly on the elements, because rendering thousands of words in each frame would be slow.
// Text without times follows the words.
function Transcript({ times, text, at, onSeek }: {
  times: WordTime[]; text: string; at: number; onSeek: (to: number) =>
  void }) {
  const box = useRef<HTMLParagraphElement>(null)
  const lit = useRef(-1)
  const now = spoken(times, at)
  const list = useMemo(() => [
    ...times.map((word, i) => <span key={i} data-i={i} class={isWord(word) ? 'w' : ''}>{word.text}</span>),
    <span key="rest">{restOf(text, times)}</span>,
  ], [times.length, text])
  useLayoutEffect(() => {
    const spans = box.current!.children
    spans[lit.current]?.classList.remove('now')
    for (let i = Math.min(lit.current, now) + 1; i <= Math.max(lit.current, now); i++)
      spans[i]?.classList.toggle('said', i <= now)
    spans[now]?.classList.add('now')
    lit.current = now
  }, [now])
  // The arrow keys move from word to word, so that a text of a thousand words is not a thousand tab stops.
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (!step) return
    event.preventDefault()
    let to = now + step
    while (times[to] && !isWord(times[to]!)) to += step
    if (times[to]) onSeek(times[to]!.start + 0.001)
  }
  return <>
    <p ref={box} class="transcript live" dir="auto" tabIndex={0} role="group" aria-label={w.spoken} onKeyDown={move}
      onClick={event => {
      const i = (event.target as HTMLElement).dataset['i']
      if (i !== undefined) onSeek(times[Number(i)]!.start + 0.001)
    }}>{list}</p>
    <small class="faint">{w.wordsHint}</small>
  </>
}

// restOf returns the text after the words with known times.
function restOf(text: string, times: WordTime[]): string {
  const known = times.reduce((sum, word) => sum + word.text.length, 0)
  return times.map(word => word.text).join('') === text.slice(0, known) ? text.slice(known) : ''
}
