// The clips of a list, loaded in pages as they become visible, and the newest ones for a search in their words.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { api, type Clip } from './api'
import { listen } from './live'
import { useRecovery } from './ui'

// Filter selects clips. The service applies all of it except the search text: texts are sealed, so only the reader can
// search in them.
export interface Filter {
  order: string; voice: string; language: string; media: string; since: string; until: string // the last two are days
  search: string
}

export const everything: Filter = {
  order: 'timestamp desc', voice: '', language: '', media: '', since: '', until: '', search: '',
}

export const isFiltered = (f: Filter) => Object.entries(f).some(([key, value]) => key !== 'order' && value !== '')
export const isSearch = (f: Filter) => f.search.trim() !== ''

// searched is the number of the newest clips that are searched.
export const searched = 500
const pageSize = 100
const mostPages = 20 // in memory

// startOf returns the start of a day in the reader's zone, in Unix seconds. A second argument selects the next day.
export function startOf(day: string, after = 0): number {
  const [year, month, date] = day.split('-').map(Number)
  return Math.round(new Date(year!, month! - 1, date! + after).getTime() / 1000)
}

// isByTime reports whether the clips are sorted by time.
export const isByTime = (f: Filter) => f.order.startsWith('timestamp')

export function queryOf(f: Filter): URLSearchParams {
  const bounded = f.voice || f.since || f.until || isSearch(f) // the service sorts these by time only
  const [by, direction] = (bounded && !isByTime(f) ? 'timestamp desc' : f.order).split(' ')
  return new URLSearchParams({
    sort_by: by!, sort_order: direction!, ...(f.language && { language: f.language }),
    ...(f.voice && { voice: f.voice }),
    ...(f.media && { media_type: f.media }),
    ...(f.since && { since: String(startOf(f.since)) }), ...(f.until && { until: String(startOf(f.until, 1)) }),
  })
}

// rankOf returns the number of clips before those of a day.
export async function rankOf(day: string, f: Filter): Promise<number> {
  const query = queryOf(f)
  if (f.order === 'timestamp desc')
    query.set('since', String(Math.max(startOf(day, 1), Number(query.get('since') ?? 0))))
  else query.set('until', String(Math.min(startOf(day), Number(query.get('until') ?? Infinity))))
  query.set('page_size', '1')
  return (await api.clips(query.toString())).total_clips
}

export interface Rows {
  total: number | undefined // undefined while unknown
  at: (rank: number) => Clip | undefined
  want: (first: number, end: number) => void
  error: unknown
  reload: () => void
}

// usePages loads pages on demand, and again after changes.
export function usePages(query: string, idle: boolean): Rows {
  const [, show] = useState(0)
  const state = useRef({ query, pages: new Map<number, Clip[]>(), total: undefined as number | undefined,
    error: undefined as unknown })
  const reading = useRef(new Map<number, number>())
  const wanted = useRef<[number, number]>([0, 0])
  const turn = useRef(0)
  if (state.current.query !== query) {
    state.current = { query, pages: new Map(), total: undefined, error: undefined }
    reading.current.clear()
    wanted.current = [0, 0]
    turn.current++
  }
  const read = useCallback(async (page: number) => {
    const mine = turn.current
    if (reading.current.get(page) === mine) return
    reading.current.set(page, mine)
    try {
      const found = await api.clips(`${query}&page_size=${pageSize}&page=${page + 1}`)
      if (mine !== turn.current) return
      const now = state.current
      now.pages.set(page, found.clips)
      now.total = found.total_clips
      now.error = undefined
      for (const other of now.pages.keys()) {
        if (now.pages.size <= mostPages) break
        if (Math.abs(other - page) > 2) now.pages.delete(other)
      }
    } catch (error) {
      if (mine === turn.current) state.current.error = error
    }
    if (mine === turn.current) reading.current.delete(page)
    show(n => n + 1)
  }, [query])
  const want = useCallback((first: number, end: number) => {
    wanted.current = [Math.floor(first / pageSize), Math.floor(Math.max(first, end - 1) / pageSize)]
    for (let page = wanted.current[0]; page <= wanted.current[1]; page++) if (!state.current.pages.has(page)) read(page)
  }, [read])
  const reload = useCallback(() => {
    turn.current++
    reading.current.clear()
    const [first, last] = wanted.current
    for (const page of state.current.pages.keys()) if (page < first || page > last) state.current.pages.delete(page)
    for (let page = first; page <= last; page++) read(page)
  }, [read])
  useEffect(() => {
    if (idle) return
    reload()
    return listen(['clips'], reload)
  }, [reload, idle])
  const { pages, total, error } = state.current
  useRecovery(error, reload)
  return { total, error, want, reload, at: rank => pages.get(Math.floor(rank / pageSize))?.[rank % pageSize] }
}

// useSearch searches the newest clips, which it loads once.
export function useSearch(query: string, { search }: Filter, idle: boolean): Rows {
  const [found, setFound] = useState<{ query: string; clips?: Clip[]; error?: unknown }>({ query: '' })
  const latest = useRef(0)
  const reload = useCallback(() => {
    const mine = ++latest.current
    api.clips(`${query}&page_size=${searched}`).then(
      page => { if (mine === latest.current) setFound({ query, clips: page.clips }) },
      error => { if (mine === latest.current) setFound({ query, error }) })
  }, [query])
  useEffect(() => {
    if (idle) return
    reload()
    const end = listen(['clips'], reload)
    return () => { latest.current++; end() }
  }, [reload, idle])
  useRecovery(found.error, reload)
  const clips = found.query === query ? matching(found.clips, search) : undefined
  return { total: clips?.length, at: rank => clips?.[rank], want: () => {},
    error: found.query === query ? found.error : undefined, reload }
}

const folded = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLocaleLowerCase()

function matching(clips: Clip[] | undefined, search: string): Clip[] | undefined {
  const parts = folded(search).split(/\s+/).filter(part => part !== '')
  return clips?.filter(clip => {
    const text = folded(clip.text ?? '')
    return parts.every(part => text.includes(part))
  })
}
