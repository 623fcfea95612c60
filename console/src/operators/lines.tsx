// A plot of lines over time, with their values under the pointer or the arrow keys.
import { useEffect, useRef, useState } from 'preact/hooks'
import { dateTime, utc } from '../format'
import { words } from './words'

export interface Line { name: string; kind: 'first' | 'second'; values: (number | null)[] }

const height = 180, bottom = 24, left = 62, top = 10, right = 8

// roundAbove returns the smallest round number that is not below n.
function roundAbove(n: number): number {
  const power = 10 ** Math.floor(Math.log10(n))
  return [1, 2, 4, 5, 10].map(step => step * power).find(round => round >= n * 0.9999)!
}

const clock = (seconds: number) =>
  new Date(seconds * 1000).toLocaleTimeString(navigator.language, { hour: '2-digit', minute: '2-digit' })

// pathOf leaves gaps where there is no value.
function pathOf(values: (number | null)[], x: (i: number) => number, y: (value: number) => number): string {
  return values.map((value, i) => value === null ? ''
    : `${i === 0 || values[i - 1] === null ? 'M' : 'L'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join('')
}

// Lines shows at least span seconds, up to the last of the times.
export function Lines({ title, times, span, lines, shown, least = 1 }: {
  title: string; times: number[]; span: number; lines: Line[]; shown: (value: number) => string; least?: number
}) {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(360)
  const [at, setAt] = useState(-1)
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.max(200, entry!.contentRect.width)))
    watch.observe(box.current!)
    return () => watch.disconnect()
  }, [])
  const end = times.at(-1) ?? Date.now() / 1000
  const begin = Math.min(times[0] ?? end, end - span)
  const most = roundAbove(Math.max(least, ...lines.flatMap(line => line.values.map(value => value ?? 0))))
  const inner = height - top - bottom
  const x = (i: number) => xOf(times[i]!)
  const xOf = (time: number) => left + (width - left - right) * (time - begin) / (end - begin)
  const y = (value: number) => top + inner * (1 - value / most)
  const nearest = (offset: number) => times.reduce((best, _, i) =>
    Math.abs(x(i) - offset) < Math.abs(x(best) - offset) ? i : best, 0)
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (!step || times.length === 0) return
    event.preventDefault()
    setAt(Math.max(0, Math.min(times.length - 1, at < 0 ? times.length - 1 : at + step)))
  }
  const valueOf = (line: Line, i: number) => line.values[i] === null || line.values[i] === undefined
    ? words.nothing : shown(line.values[i])
  const now = at < 0 ? times.length - 1 : Math.min(at, times.length - 1)
  const text = times.length === 0 ? words.nothing
    : `${dateTime(times[now]!)}: ${lines.map(line => `${line.name} ${valueOf(line, now)}`).join(', ')}`
  const steps = Math.max(1, Math.min(3, Math.floor((width - left) / 120)))
  const marks = Array.from({ length: steps + 1 }, (_, i) => begin + (end - begin) * i / steps)
  return <figure class="lines card" ref={box}>
    <figcaption>
      <strong>{title}</strong>
      <span class="legend">
        {lines.map(line => <span key={line.name}>
          <span class={`dot ${line.kind}`} />{line.name} <b>{now < 0 ? words.nothing : valueOf(line, now)}</b></span>)}
      </span>
      <small title={now < 0 ? '' : utc(times[now]!)}>{at < 0 || now < 0 ? words.latest : clock(times[now]!)}</small>
    </figcaption>
    <svg width={width} height={height} role="slider" tabIndex={0} aria-label={title} aria-valuemin={0}
      aria-valuemax={Math.max(0, times.length - 1)} aria-valuenow={Math.max(0, now)} aria-valuetext={text}
      onKeyDown={move} onPointerMove={e => setAt(times.length ? nearest(e.offsetX) : -1)}
      onPointerLeave={() => setAt(-1)} onBlur={() => setAt(-1)}>
      {[0, 0.5, 1].map(share => <g key={share} class="grid">
        <line x1={left} x2={width - right} y1={y(most * share)} y2={y(most * share)} />
        <text x={left - 8} y={y(most * share) + 4} text-anchor="end">{shown(most * share)}</text>
      </g>)}
      {marks.map((time, i) => <text key={i} x={xOf(time)} y={height - 6}
        text-anchor={i === 0 ? 'start' : i === steps ? 'end' : 'middle'}>{clock(time)}</text>)}
      {lines.map(line => <path key={line.name} class={line.kind} d={pathOf(line.values, x, y)} />)}
      {lines.map(line => line.values.map((value, i) =>
        value !== null && (i === at || line.values[i - 1] == null && line.values[i + 1] == null)
          && <circle key={`${line.name} ${i}`} class={line.kind} cx={x(i)} cy={y(value)} r={3} />))}
      {at >= 0 && at < times.length && <line class="cursor" x1={x(at)} x2={x(at)} y1={top} y2={top + inner} />}
    </svg>
  </figure>
}
