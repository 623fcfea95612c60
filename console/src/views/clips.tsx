import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { api, here, messageOf, type Clip, type Voice } from '../api'
import { everything, isByTime, isFiltered, isSearch, queryOf, rankOf, searched, usePages, useSearch, type Filter,
  type Rows } from '../clip-pages'
import { byName, language, number } from '../format'
import { announce } from '../live'
import { silence, usePlayer } from '../player'
import { heightOf, moved, seen, settled, to, type Scroll } from '../rank'
import '../styles/clips.css'
import { tongues } from '../tongues'
import { Empty, Failed, Field, Header, Icon, Notice, Select, Skeleton, Time, toast, toastFailure, undoable,
  useResource } from '../ui'
import { Avatar, Search } from '../voice-list'
import { words } from '../words'
import { canPlay, extensionOf, mediaTypes } from '../media'
import { ClipDialog } from './clip'

const w = words.clips

const sorted = byName(tongues)
const mostSelected = 100

export function Clips() {
  const [filter, setFilter] = useState(everything)
  const [removed, setRemoved] = useState<ReadonlySet<string>>(new Set())
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [open, setOpen] = useState<Clip>()
  const [rank, setRank] = useState<{ rank: number }>()
  const query = queryOf(filter).toString()
  const pages = usePages(query, isSearch(filter))
  const search = useSearch(query, filter, !isSearch(filter))
  const rows = isSearch(filter) ? search : pages
  const voices = useResource(api.voices, ['voices'])
  const nameOf = (clip: Clip) => voices.data?.find(voice => voice.id === clip.voice)?.name ?? clip.voice
  const change = (part: Partial<Filter>) => {
    setFilter(old => ({ ...old, ...part }))
    setSelected(new Set())
    setRank(undefined)
  }
  const remove = (ids: string[]) => {
    silence()
    setSelected(new Set())
    setRemoved(old => new Set([...old, ...ids]))
    const back = () => setRemoved(old => new Set([...old].filter(id => !ids.includes(id))))
    undoable(w.removed(ids.length, number(ids.length)), async () => {
      await Promise.all(ids.map(api.deleteClip))
      announce('clips')
    }, () => { back(); announce('clips') })
  }
  const select = (id: string) => setSelected(old => {
    const next = new Set(old)
    if (!next.delete(id) && next.size < mostSelected) next.add(id)
    return next
  })
  const jump = (day: string) => rankOf(day, filter).then(found => setRank({ rank: found }), toastFailure)
  return <>
    <Header title={w.title} lead={w.lead} />
    <Filters filter={filter} voices={voices.data} onChange={change} onJump={rows.total ? jump : undefined} />
    <div class="list-head">
      <span class="faint" aria-live="polite">{rows.total !== undefined && (isSearch(filter)
        ? w.found(number(rows.total), number(searched)) : w.total(rows.total, number(rows.total)))}</span>
      {selected.size > 0 && <span class="actions">
        <span>{w.selected(number(selected.size))}</span>
        <button class="button small danger-text" onClick={() => remove([...selected])}>{w.removeSelected}</button>
        <button class="button small" onClick={() => setSelected(new Set())}>{words.clear}</button>
      </span>}
    </div>
    {rows.total === undefined ? rows.error !== undefined ? <Failed error={rows.error}
      onRetry={rows.reload} /> : <Skeleton rows={6} />
      : rows.total === 0 ? <None filtered={isFiltered(filter)} onAll={() => change(everything)} />
        : <>
          {rows.error !== undefined && <Notice kind="warning" onRetry={rows.reload}>{messageOf(rows.error)}</Notice>}
          <List key={query + filter.search} rows={rows} total={rows.total} goTo={rank}>
            {(clip, place) => <Row key={clip.id} clip={clip} place={place} name={nameOf(clip)}
              removed={removed.has(clip.id)}
              selected={selected.has(clip.id)} onSelect={() => select(clip.id)}
              onOpen={() => { silence(); setOpen(clip) }}
              onRemove={() => remove([clip.id])} />}
          </List>
        </>}
    {open && <ClipDialog clip={open} name={nameOf(open)} onClose={() => setOpen(undefined)} />}
  </>
}

function Filters({ filter, voices, onChange, onJump }: {
  filter: Filter; voices: Voice[] | undefined; onChange: (part: Partial<Filter>) => void
  onJump: ((day: string) => void) | undefined
}) {
  const names = (voices ?? []).map(voice => [voice.id, voice.name] as [string, string])
  const byTime = filter.voice !== '' || filter.since !== '' || filter.until !== '' || isSearch(filter)
  const orders = Object.entries(w.orders).filter(([order]) => !byTime || order.startsWith('timestamp'))
  const order = byTime && !isByTime(filter) ? 'timestamp desc' : filter.order
  return <div class="clip-filters" role="search">
    <Search value={filter.search} onChange={search => onChange({ search })} label={w.find} />
    <Select label={w.voice} value={filter.voice} options={[['', w.anyVoice], ...names]}
      onChange={voice => onChange({ voice })} />
    <Select label={w.language} value={filter.language} options={[['', w.anyLanguage], ...sorted]}
      onChange={code => onChange({ language: code })} />
    <Select label={w.format} value={filter.media} options={[['', w.anyFormat], ...mediaTypes]}
      onChange={media => onChange({ media })} />
    <Select label={w.sort} value={order} options={orders} onChange={next => onChange({ order: next })} />
    <details>
      <summary>{w.dates}<Icon name="chevron" /></summary>
      <div class="dates">
        <Day label={w.since} value={filter.since} onChange={since => onChange({ since })} />
        <Day label={w.until} value={filter.until} onChange={until => onChange({ until })} />
        {onJump && isByTime({ ...filter, order }) && !isSearch(filter) && <Jump onJump={onJump} />}
      </div>
    </details>
  </div>
}

// Day only reports complete days, because a year that is being typed is one of long ago.
function Day({ label, value, onChange }: { label: string; value: string; onChange: (day: string) => void }) {
  return <Field label={label}>
    <input type="date" value={value} min="2000-01-01" max="9998-12-31"
      onInput={e => { if (e.currentTarget.validity.valid) onChange(e.currentTarget.value) }} />
  </Field>
}

function Jump({ onJump }: { onJump: (day: string) => void }) {
  const [day, setDay] = useState('')
  return <form class="jump" onSubmit={event => { event.preventDefault(); if (day) onJump(day) }}>
    <Day label={w.jump} value={day} onChange={setDay} />
    <button class="button" disabled={!day}>{w.go}</button>
  </form>
}

function None({ filtered, onAll }: { filtered: boolean; onAll: () => void }) {
  return filtered ? <Empty icon="clips" title={w.noneFiltered}><button class="button"
    onClick={onAll}>{w.all}</button></Empty>
    : <Empty icon="clips" title={w.none} lead={w.noneLead}><a class="button primary"
      href="#/playground">{w.toPlayground}</a></Empty>
}

// Place is the position of a row: its rank, the number of rows, and the pixels from the top of the scrolled element.
interface Place { rank: number; total: number; top: number }

// rowHeight is the height of .clips li in pixels.
const rowHeight = 72
const pause = 400 // milliseconds without a movement after which the scroll bar is corrected

type Draw = (clip: Clip, place: Place) => ComponentChildren

// Drawn is a row in the document with its data. It is drawn again if they change.
interface Drawn { clip: Clip | undefined; top: number; total: number; by: Draw; node: ComponentChildren }

// List only has visible rows in the document, and some around them.
function List({ rows, total, goTo, children }: {
  rows: Rows; total: number; goTo: { rank: number } | undefined; children: Draw
}) {
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState(600)
  const [scroll, setScroll] = useState<Scroll>({ top: 0, at: 0 })
  const rest = useRef(0)
  const drawn = useRef(new Map<number, Drawn>())
  const sizes = { row: rowHeight, view, rows: total }
  useEffect(() => {
    const watch = new ResizeObserver(() => { if (box.current) setView(box.current.clientHeight) })
    watch.observe(box.current!)
    return () => { watch.disconnect(); clearTimeout(rest.current) }
  }, [])
  const [first, end] = seen(scroll, sizes)
  useEffect(() => {
    const soon = setTimeout(() => rows.want(first, end), 60) // rows that are only passed are not loaded
    return () => clearTimeout(soon)
  }, [first, end, rows.want])
  useEffect(() => { if (goTo) setScroll(to(goTo.rank, sizes)) }, [goTo])
  const known = useRef(0) // the element's scroll position, kept because reading it after a change costs a layout
  useLayoutEffect(() => {
    if (Math.abs(known.current - scroll.top) > 1) box.current!.scrollTop = known.current = scroll.top
  }, [scroll])
  const follow = () => {
    const top = known.current = box.current!.scrollTop
    setScroll(old => Math.abs(top - old.top) < 1 ? old : moved(old, top, sizes))
    clearTimeout(rest.current)
    rest.current = setTimeout(() => setScroll(old => {
      const top = settled(old, sizes)
      return Math.abs(top - old.top) > 1 ? { ...old, top } : old
    }), pause)
  }
  const next = new Map<number, Drawn>()
  for (let rank = first; rank < end; rank++) {
    const top = Math.round(scroll.top + rank * rowHeight - scroll.at), clip = rows.at(rank),
      old = drawn.current.get(rank)
    const same = old && old.clip === clip && old.top === top && old.total === total && old.by === children
    next.set(rank, same ? old : { clip, top, total, by: children, node: clip && children(clip, { rank, total, top }) })
  }
  drawn.current = next
  return <div class="clips card" ref={box} tabIndex={0} role="group" aria-label={w.title} onScroll={follow}>
    <ul style={{ height: `${heightOf(sizes)}px` }}>
      {[...next].map(([rank, row]) => row.node ?? <li key={rank} class="blank" style={{ top: `${row.top}px` }}
        aria-hidden="true"><span /></li>)}
    </ul>
  </div>
}

function Row({ clip, place, name, removed, selected, onSelect, onOpen, onRemove }: {
  clip: Clip; place: Place; name: string; removed: boolean; selected: boolean
  onSelect: () => void; onOpen: () => void; onRemove: () => void
}) {
  const [playing, play] = usePlayer()
  const on = playing === clip.id
  const address = here(clip.url)
  const style = { top: `${place.top}px` }
  const set = { 'aria-setsize': place.total, 'aria-posinset': place.rank + 1 }
  if (removed) return <li class="removed" style={style} {...set}><span class="about faint">{w.isRemoved}</span></li>
  return <li style={style} class={selected ? 'selected' : ''} {...set}>
    <input type="checkbox" checked={selected} aria-label={w.select} onChange={onSelect} />
    <button class="round small" disabled={!canPlay(clip)} aria-label={on ? w.pause : w.play}
      onClick={() => play(clip.id, address, () => toast(w.failed))}>
      <Icon name={on ? 'stop' : 'play'} />
    </button>
    <button class="about" title={w.open} onClick={onOpen}>
      <span class={clip.text === null ? 'faint' : ''} dir="auto">{clip.text ?? w.gone}</span>
      <small><Avatar name={name} /><bdi>{name}</bdi>
        {clip.language && <span>{language(clip.language)}</span>}<Time at={clip.timestamp} relative /></small>
    </button>
    <a class="icon" href={address} download={`clip.${extensionOf(clip)}`} aria-label={words.download}>
      <Icon name="download" /></a>
    <button class="icon" aria-label={w.remove} onClick={onRemove}><Icon name="trash" /></button>
  </li>
}
