import { useState } from 'preact/hooks'
import { api, here, type Clip, type Voice } from '../api'
import { byName, language, number } from '../format'
import { announce } from '../live'
import { silence, usePlayer } from '../player'
import { tongues } from '../tongues'
import { Empty, Header, Icon, Loaded, Select, Time, toast, undoable, useResource } from '../ui'
import { Avatar } from '../voice-list'
import { words } from '../words'

const w = words.clips
const pageSize = 20

const sorted = byName(tongues)

export function Clips() {
  const [order, setOrder] = useState('timestamp desc')
  const [code, setCode] = useState('')
  const [page, setPage] = useState(1)
  const [removed, setRemoved] = useState<ReadonlySet<string>>(new Set())
  const [by, direction] = order.split(' ')
  const query = new URLSearchParams({
    page: String(page), page_size: String(pageSize), sort_by: by!, sort_order: direction!, ...(code && { language: code }),
  }).toString()
  const clips = useResource(() => api.clips(query), ['clips'], query)
  const voices = useResource(api.voices, ['voices'])
  const remove = (clip: Clip) => {
    silence()
    setRemoved(old => new Set(old).add(clip.id))
    undoable(w.removed, async () => { await api.deleteClip(clip.id); announce('clips') },
      () => setRemoved(old => new Set([...old].filter(id => id !== clip.id))))
  }
  const choose = (set: (value: string) => void) => (value: string) => { set(value); setPage(1) }
  return <>
    <Header title={w.title} lead={w.lead} />
    <div class="filters">
      <Select label={w.sort} value={order} options={Object.entries(w.orders)} onChange={choose(setOrder)} />
      <Select label={w.language} value={code} options={[['', w.anyLanguage], ...sorted]} onChange={choose(setCode)} />
      {clips.data && <span class="faint">{w.total(clips.data.total_clips, number(clips.data.total_clips))}</span>}
    </div>
    <Loaded of={clips} rows={5}>
      {({ clips: list, total_pages: pages }) => {
        const shown = list.filter(clip => !removed.has(clip.id))
        if (shown.length === 0 && page === 1) return <None filtered={code !== ''} />
        return <>
          <ul class="clips card">{shown.map(clip => <Row key={clip.id} clip={clip} voices={voices.data} onRemove={() => remove(clip)} />)}</ul>
          {pages > 1 && <Pager page={page} pages={pages} onPage={setPage} />}
        </>
      }}
    </Loaded>
  </>
}

function None({ filtered }: { filtered: boolean }) {
  return filtered ? <Empty icon="clips" title={w.noneFiltered} />
    : <Empty icon="clips" title={w.none} lead={w.noneLead}><a class="button primary" href="#/playground">{w.toPlayground}</a></Empty>
}

function Pager({ page, pages, onPage }: { page: number; pages: number; onPage: (page: number) => void }) {
  return <nav class="pager" aria-label={w.page(number(page), number(pages))}>
    <button class="button small" disabled={page <= 1} onClick={() => onPage(page - 1)}>{w.previous}</button>
    <span>{w.page(number(page), number(pages))}</span>
    <button class="button small" disabled={page >= pages} onClick={() => onPage(page + 1)}>{w.next}</button>
  </nav>
}

function Row({ clip, voices, onRemove }: { clip: Clip; voices: Voice[] | undefined; onRemove: () => void }) {
  const [playing, play] = usePlayer()
  const on = playing === clip.id
  const name = voices?.find(voice => voice.id === clip.voice)?.name ?? clip.voice
  const address = here(clip.url)
  return <li>
    <button class="round small" aria-label={on ? w.pause : w.play} onClick={() => play(clip.id, address, () => toast(w.failed))}>
      <Icon name={on ? 'stop' : 'play'} />
    </button>
    <div class="about">
      <p class={clip.text === null ? 'faint' : ''} dir="auto">{clip.text ?? w.gone}</p>
      <small><Avatar name={name} /><bdi>{name}</bdi>
        {clip.language && <span>{language(clip.language)}</span>}<Time at={clip.timestamp} relative /></small>
    </div>
    <a class="icon" href={address} download="clip" aria-label={words.download}><Icon name="download" /></a>
    <button class="icon" aria-label={w.remove} onClick={onRemove}><Icon name="trash" /></button>
  </li>
}
