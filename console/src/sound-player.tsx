// A sound with its waveform and words, which light up as they are spoken.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { WordTime } from './api'
import { clock } from './format'
import { peaksOf, type Settings, type Sound } from './speech'
import { Icon } from './ui'
import { words } from './words'

const w = words.playground

export interface Made { sound: Sound; settings: Settings; blob?: Blob; times?: WordTime[] }

const bars = 96

export function SoundPlayer({ made }: { made: Made }) {
  const audio = useRef<HTMLAudioElement>(null)
  const [playing, setPlaying] = useState(false)
  const [at, setAt] = useState(0)
  const [length, setLength] = useState(0)
  const [peaks, setPeaks] = useState<number[]>()
  useEffect(() => { audio.current!.play().catch(() => setPlaying(false)) }, [])
  useEffect(() => {
    if (made.blob) peaksOf(made.blob, bars).then(setPeaks, () => setPeaks(undefined))
  }, [made.blob])
  useEffect(() => {
    if (!playing) return
    let frame = 0
    const tick = () => { setAt(audio.current?.currentTime ?? 0); frame = requestAnimationFrame(tick) }
    tick()
    return () => cancelAnimationFrame(frame)
  }, [playing])
  const seek = (to: number) => { audio.current!.currentTime = to; setAt(to) }
  const from = (to: number) => { seek(to); audio.current!.play().catch(() => setPlaying(false)) }
  const toggle = () => {
    const element = audio.current!
    if (playing) element.pause()
    else element.play().catch(() => setPlaying(false))
  }
  const known = made.blob && Number.isFinite(length) ? length : 0
  return <>
    <audio ref={audio} src={made.sound.address} onPlay={() => setPlaying(true)} onPause={() => setPlaying(false)}
      onEnded={() => { setPlaying(false); setAt(audio.current!.currentTime) }} onDurationChange={() => setLength(audio.current!.duration)} />
    <div class="player">
      <button class="round" aria-label={playing ? w.pause : w.play} onClick={toggle}><Icon name={playing ? 'pause' : 'play'} /></button>
      <div class="wave">
        <Wave peaks={peaks} share={known ? at / known : 0} />
        <input type="range" min="0" max={known || 1} step="0.05" value={known ? at : 0} disabled={!known} aria-label={w.position}
          aria-valuetext={w.ofSeconds(clock(at), clock(known))} onInput={e => seek(Number(e.currentTarget.value))} />
      </div>
      <span class="time">{clock(at)} / {known ? clock(known) : '–:––'}</span>
    </div>
    {made.times && made.times.length > 0
      ? <Transcript times={made.times} at={at} onSeek={from} />
      : <p class="transcript" dir="auto">{made.settings.text}</p>}
  </>
}

function Wave({ peaks, share }: { peaks: number[] | undefined; share: number }) {
  return <svg viewBox={`0 0 ${bars * 4} 48`} preserveAspectRatio="none" aria-hidden="true">
    {Array.from({ length: bars }, (_, i) => {
      const tall = Math.max(3, (peaks?.[i] ?? 0.06) * 44)
      return <rect key={i} class={i / bars < share ? 'past' : ''} x={i * 4 + 0.75} y={24 - tall / 2} width={2.5} height={tall} rx={1.2} />
    })}
  </svg>
}

// spoken returns the index of the word that is spoken at a time, -1 for none.
export function spoken(times: WordTime[], at: number): number {
  let found = -1
  for (const [i, word] of times.entries()) {
    if (word.start > at) break
    if (word.text.trim()) found = i
  }
  return found
}

// Transcript marks words on the elements themselves, as rendering thousands of them in each frame would be slow.
function Transcript({ times, at, onSeek }: { times: WordTime[]; at: number; onSeek: (to: number) => void }) {
  const box = useRef<HTMLParagraphElement>(null)
  const lit = useRef(-1)
  const now = spoken(times, at)
  const [list] = useState(() => times.map((word, i) => <span key={i} data-i={i} class={word.text.trim() ? 'w' : ''}>{word.text}</span>))
  useLayoutEffect(() => {
    const spans = box.current!.children
    spans[lit.current]?.classList.remove('now')
    for (let i = Math.min(lit.current, now) + 1; i <= Math.max(lit.current, now); i++) spans[i]?.classList.toggle('said', i <= now)
    spans[now]?.classList.add('now')
    lit.current = now
  }, [now])
  return <>
    <p ref={box} class="transcript live" dir="auto" onClick={event => {
      const i = (event.target as HTMLElement).dataset['i']
      if (i !== undefined) onSeek(times[Number(i)]!.start + 0.001)
    }}>{list}</p>
    <small class="faint">{w.wordsHint}</small>
  </>
}
