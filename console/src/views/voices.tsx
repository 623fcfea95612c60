import { useEffect, useState } from 'preact/hooks'
import { api, type Voice } from '../api'
import { announce } from '../live'
import { About, found, PreviewButton, star, VoiceFilter, type Filter } from '../voice-list'
import { number } from '../format'
import { ConfirmByTyping, Dialog, Empty, Field, Form, Header, Icon, Loaded, Select, StarButton, toast,
  useResource } from '../ui'
import { words } from '../words'
import { Create } from './voice-create'

const w = words.voices

type Open = { kind: 'create' } | { kind: 'edit' | 'remove'; voice: Voice }

const unfinished = (voice: Voice) => ['preparing', 'pending', 'training'].includes(voice.state)

export function Voices() {
  const voices = useResource(api.voices, ['voices'])
  const [open, setOpen] = useState<Open | null>(null)
  const close = () => setOpen(null)
  const waiting = voices.data?.some(unfinished)
  useEffect(() => {
    if (!waiting) return
    const timer = setInterval(() => { if (!document.hidden) announce('voices') }, 3000)
    return () => clearInterval(timer)
  }, [waiting])
  return <>
    <Header title={w.title} lead={w.lead}>
      <button class="button primary" onClick={() => setOpen({ kind: 'create' })}><Icon name="plus" />{w.create}</button>
    </Header>
    <Loaded of={voices} rows={6}>{list => <List voices={list} onOpen={setOpen} />}</Loaded>
    {open?.kind === 'create' && <Create onClose={close} />}
    {open?.kind === 'edit' && <Edit voice={open.voice} onClose={close} />}
    {open?.kind === 'remove' && <Remove voice={open.voice} onClose={close} />}
  </>
}

function List({ voices, onOpen }: { voices: Voice[]; onOpen: (open: Open) => void }) {
  const [filter, setFilter] = useState<Filter>('all')
  const [search, setSearch] = useState('')
  const list = found(voices, filter, search)
  const noneOwn = filter === 'me' && !voices.some(voice => voice.owner === 'me')
  return <>
    <VoiceFilter filter={filter} search={search} onFilter={setFilter} onSearch={setSearch} />
    {noneOwn ? <Empty icon="voices" title={w.noneOwn} lead={w.noneOwnLead} />
      : list.length === 0 ? <Empty icon="voices" title={w.noneFound} lead={w.noneFoundLead} />
        : <ul class="voices card">
          {list.map(voice => <li key={voice.id}>
            <span class="choose"><About voice={voice}>{voice.owner === 'me' && <span class="badge">{w.mine}</span>}
              </About></span>
            {voice.owner === 'me' && <>
              <button class="button small" onClick={() => onOpen({ kind: 'edit', voice })}>{w.edit}</button>
              <button class="button small danger-text"
                onClick={() => onOpen({ kind: 'remove', voice })}>{w.remove}</button>
            </>}
            <PreviewButton voice={voice} />
            <StarButton on={!!voice.starred} name={voice.name} onClick={() => star(voice)} />
          </li>)}
        </ul>}
  </>
}

const genders = Object.entries(w.genders)

function Edit({ voice, onClose }: { voice: Voice; onClose: () => void }) {
  const [name, setName] = useState(voice.name)
  const [description, setDescription] = useState(voice.description ?? '')
  const [gender, setGender] = useState(voice.gender ?? 'U')
  const options = genders.some(([key]) => key === gender) ? genders : [...genders, [gender, gender] as [string, string]]
  return <Dialog title={w.editTitle} onClose={onClose}>
    <Form submit={words.save} onCancel={onClose} disabled={!name.trim()} action={async () => {
      await api.updateVoice(voice.id, { name: name.trim(), description, gender })
      announce('voices')
      onClose()
      toast(words.security.saved)
    }}>
      <Field label={w.name}>
        <input value={name} maxLength={200} autofocus autocomplete="off"
          onInput={e => setName(e.currentTarget.value)} />
      </Field>
      <Field label={w.description}>
        <textarea rows={3} maxLength={5000} value={description} onInput={e => setDescription(e.currentTarget.value)} />
      </Field>
      <Field label={w.gender}><Select value={gender} options={options} onChange={setGender} /></Field>
    </Form>
  </Dialog>
}

// Remove explains that clips made with the voice stay, and what will fail.
function Remove({ voice, onClose }: { voice: Voice; onClose: () => void }) {
  const clips = useResource(() => api.clips(new URLSearchParams({ voice: voice.id, page_size: '1' }).toString()),
    ['clips'])
  const made = clips.data?.total_clips
  const lead = made === undefined ? w.removeLead : `${w.removeLead} ${w.removeClips(made, number(made))}`
  return <ConfirmByTyping title={w.removeTitle(voice.name)} lead={lead} word="delete" submit={w.remove}
    onClose={onClose} action={async () => {
      await api.deleteVoice(voice.id)
      announce('voices', 'account')
      onClose()
      toast(w.removed(voice.name))
    }} />
}
