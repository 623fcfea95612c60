// The list of voices, in the playground's chooser and in the view of voices.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { api, here, type Voice } from './api'
import { announce } from './live'
import { usePlayer } from './player'
import { Choice, Dialog, Empty, Icon, StarButton, toast, toastFailure } from './ui'
import { words } from './words'

const w = words.voices

export type Filter = 'all' | 'me' | 'system' | 'starred'
const filters: [Filter, string][] = [['all', w.all], ['starred', w.starred], ['me', w.mine], ['system', w.system]]

// found returns the voices of a filter that match all words of a search.
export function found(voices: Voice[], filter: Filter, search: string): Voice[] {
  const parts = search.toLocaleLowerCase().split(/\s+/)
  return voices.filter(voice => {
    if (filter === 'starred' ? !voice.starred : filter !== 'all' && voice.owner !== filter) return false
    const text = [voice.name, voice.description, w.genders[voice.gender ?? ''],
      ...voice.tags ?? []].join(' ').toLocaleLowerCase()
    return parts.every(part => text.includes(part))
  })
}

// hueOf assigns each name one of a few colours.
const hueOf = (name: string) => [...name].reduce((sum, point) => (sum * 31 + point.codePointAt(0)!) % 6, 7)

export function Avatar({ name }: { name: string }) {
  return <span class={`avatar hue-${hueOf(name)}`} data-letter={[...name.trim()][0]?.toUpperCase() ?? ''} />
}

export function Search({ value, onChange, label, focused }: {
  value: string; onChange: (text: string) => void; label: string; focused?: boolean | undefined
}) {
  return <div class="search">
    <Icon name="search" />
    <input type="search" placeholder={label} aria-label={label} value={value} autofocus={focused}
      onInput={e => onChange(e.currentTarget.value)} />
  </div>
}

export function VoiceFilter({ filter, search, onFilter, onSearch, focused }: {
  filter: Filter; search: string; onFilter: (filter: Filter) => void; onSearch: (text: string) => void;
    focused?: boolean
}) {
  return <div class="filters">
    <Search value={search} onChange={onSearch} label={w.find} focused={focused} />
    <Choice label={w.filter} value={filter} options={filters} onChange={onFilter} />
  </div>
}

export function star(voice: Voice) {
  api.updateVoice(voice.id, { starred: !voice.starred }).then(() => announce('voices'), toastFailure)
}

export function PreviewButton({ voice }: { voice: Voice }) {
  const [playing, play] = usePlayer()
  const on = playing === voice.id
  if (!voice.preview_url) return null
  const address = here(voice.preview_url)
  return <button type="button" class="icon" aria-label={on ? w.stopPreview(voice.name) : w.preview(voice.name)}
    onClick={() => play(voice.id, address, () => toast(w.previewFailed))}><Icon name={on ? 'stop' : 'play'} /></button>
}

export function State({ voice }: { voice: Voice }) {
  if (voice.state === 'ready') return null
  return <span class={`badge ${voice.state === 'broken' ? 'bad' : ''}`}
    title={voice.reason}>{w.state[voice.state] ?? voice.state}</span>
}

// About is the description of a voice in a row.
export function About({ voice, children }: { voice: Voice; children?: ComponentChildren }) {
  return <>
    <Avatar name={voice.name} />
    <span class="about">
      <span class="line"><bdi>{voice.name}</bdi><State voice={voice} />{children}</span>
      <small><bdi>{voice.reason || voice.description || (voice.tags ?? []).join(', ') || w.genders[voice.gender ?? 'U']}
        </bdi></small>
    </span>
  </>
}

export function VoiceDialog({ voices, chosen, onChoose, onClose }: {
  voices: Voice[]; chosen: string | undefined; onChoose: (id: string) => void; onClose: () => void
}) {
  const [filter, setFilter] = useState<Filter>('all')
  const [search, setSearch] = useState('')
  const list = found(voices, filter, search)
  return <Dialog title={words.playground.chooseVoice} onClose={onClose}>
    <VoiceFilter filter={filter} search={search} onFilter={setFilter} onSearch={setSearch} focused />
    {list.length === 0 ? <Empty icon="voices" title={w.noneFound} lead={w.noneFoundLead} />
      : <ul class="voices">
        {list.map(voice => <li key={voice.id} class={voice.id === chosen ? 'chosen' : ''}>
          <button type="button" class="choose" aria-pressed={voice.id === chosen} disabled={voice.state !== 'ready'}
            onClick={() => onChoose(voice.id)}><About voice={voice} /></button>
          <PreviewButton voice={voice} />
          <StarButton on={!!voice.starred} name={voice.name} onClick={() => star(voice)} />
        </li>)}
      </ul>}
  </Dialog>
}
