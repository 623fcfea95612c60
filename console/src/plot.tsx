// A plot of stacked bars, with the values of the bar under the pointer or the arrow keys.
import { useEffect, useRef, useState } from 'preact/hooks'
import { characters, compact, number } from './format'
import { words } from './words'

export interface Bar { key: string; label: string; full: string; api: number; browser: number }

const w = words.usage
const height = 220, bottom = 24, left = 46, top = 12

// ceiling returns the smallest round number that is not below n, for the end of the axis.
export function ceiling(n: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(n, 4)))
  return [1, 2, 4, 8, 10].map(step => step * power).find(round => round >= n)!
}

export function Plot({ bars, limit, cap = null, label }: {
  bars: Bar[]; limit: number | null; cap?: number | null; label: string
}) {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(600)
  const [at, setAt] = useState(-1)
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.max(200, entry!.contentRect.width)))
    watch.observe(box.current!)
    return () => watch.disconnect()
  }, [])
  const most = Math.max(...bars.map(bar => bar.api + bar.browser), 1)
  // a line far above all bars would flatten them
  const near = (line: number | null) => line !== null && line > 0 && line <= most * 20 ? line : null
  const shownLimit = near(limit), shownCap = near(cap)
  const end = ceiling(Math.max(most, shownLimit ?? 0, shownCap ?? 0))
  const inner = height - bottom - top
  const y = (value: number) => top + inner * (1 - value / end)
  const slot = (width - left) / bars.length
  const thick = Math.max(1, Math.min(40, slot - Math.max(1, slot * 0.25)))
  const x = (i: number) => left + i * slot + (slot - thick) / 2
  const labels = Math.max(1, Math.ceil(bars.length / Math.max(2, Math.floor((width - left) / 76))))
  const shown = bars[at]
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (!step) return
    event.preventDefault()
    setAt(Math.max(0, Math.min(bars.length - 1, at < 0 ? bars.length - 1 : at + step)))
  }
  const text = shown ? `${shown.full}: ${characters(shown.api + shown.browser)}` : w.apart
  return <div class="plot" ref={box}>
    <div class="legend" aria-live="polite">
      <strong>{shown ? shown.full : ''}</strong>
      <span><span class="dot api" />{w.api}{shown && ` ${number(shown.api)}`}</span>
      <span><span class="dot browser" />{w.browser}{shown && ` ${number(shown.browser)}`}</span>
      {shownLimit !== null && <span><span class="dash" />{w.limitLine(characters(shownLimit))}</span>}
      {shownCap !== null && <span><span class="dash cap" />{w.capLine(characters(shownCap))}</span>}
    </div>
    <svg width={width} height={height} role="slider" tabIndex={0} aria-label={label} aria-valuemin={0}
      aria-valuemax={bars.length - 1} aria-valuenow={Math.max(0, at)} aria-valuetext={text} onKeyDown={move}
      onPointerMove={e => setAt(Math.min(bars.length - 1, Math.floor((e.offsetX - left) / slot)))}
      onPointerLeave={() => setAt(-1)} onBlur={() => setAt(-1)}>
      {[0, 0.25, 0.5, 0.75, 1].map(part => <g key={part} class="grid">
        <line x1={left} x2={width} y1={y(end * part)} y2={y(end * part)} />
        <text x={left - 8} y={y(end * part) + 4} text-anchor="end">{compact(end * part)}</text>
      </g>)}
      {bars.map((bar, i) => <g key={bar.key} class={i === at ? 'bar at' : 'bar'}>
        <rect class="hover" x={left + i * slot} y={top} width={slot} height={inner} />
        <rect class="api" x={x(i)} y={y(bar.api)} width={thick} height={inner * bar.api / end} />
        <rect class="browser" x={x(i)} y={y(bar.api + bar.browser)} width={thick} height={inner * bar.browser / end} />
        {(bars.length - 1 - i) % labels === 0 && <text x={Math.min(width - 22, x(i) + thick / 2)} y={height - 6}
          text-anchor="middle">{bar.label}</text>}
      </g>)}
      {shownLimit !== null && <line class="limit" x1={left} x2={width} y1={y(shownLimit)} y2={y(shownLimit)} />}
      {shownCap !== null && <line class="limit cap" x1={left} x2={width} y1={y(shownCap)} y2={y(shownCap)} />}
    </svg>
  </div>
}
