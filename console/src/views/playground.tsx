import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { api, messageOf, type Voice } from '../api'
import { leftOf, useSigned } from '../app'
import { languages as programs, program, type Language } from '../code'
import { byName, characters, countCharacters, save } from '../format'
import { announce } from '../live'
import { silence } from '../player'
import { extensions, inFormat, maxCharacters, speak, type Settings, type Sound } from '../speech'
import { SoundPlayer, type Made } from '../sound-player'
import { Avatar, VoiceDialog } from '../voice-list'
import { Choice, Copy, Dialog, Empty, Field, Failed, Header, Icon, Notice, Select, Skeleton, useResource } from '../ui'
import { words } from '../words'
import { tongues } from '../tongues'

const w = words.playground

const initial: Settings = {
  text: w.sample, voice: 'leah', model: 'aurora', language: 'auto', speed: 1, variation: '', seed: '',
}

// The settings outlive a reload, the text only in this tab.
function stored(): Settings {
  try {
    const kept = JSON.parse(localStorage.getItem('playground') ?? '{}')
    return { ...initial, ...kept, text: sessionStorage.getItem('text') ?? initial.text }
  } catch {
    return initial
  }
}

function keep({ text, seed: _, ...settings }: Settings) {
  try {
    localStorage.setItem('playground', JSON.stringify(settings))
    sessionStorage.setItem('text', text)
  } catch {
    // What the browser does not keep is as it was at first after a reload.
  }
}

type Phase = { kind: 'idle' } | { kind: 'making' } | { kind: 'failed'; error: unknown }

// useSpeech makes one sound at a time, and lets go of the one before.
function useSpeech(settings: Settings) {
  const [phase, setPhase] = useState<Phase>({ kind: 'idle' })
  const [made, setMade] = useState<Made>()
  const stopper = useRef<AbortController>(undefined)
  const sound = useRef<Sound>(undefined)
  const stop = () => { stopper.current?.abort(); setPhase({ kind: 'idle' }) }
  useEffect(() => () => { stopper.current?.abort(); sound.current?.release() }, [])
  const start = async () => {
    stopper.current?.abort()
    silence()
    const mine = stopper.current = new AbortController()
    setPhase({ kind: 'making' })
    try {
      const next = await speak(settings, mine.signal)
      sound.current?.release()
      sound.current = next
      setMade({ sound: next, settings })
      const complete = await next.complete
      if (mine.signal.aborted) return
      setMade({ sound: next, settings, ...complete })
      setPhase({ kind: 'idle' })
      announce('account', 'usage', 'clips')
    } catch (error) {
      if (!mine.signal.aborted) setPhase({ kind: 'failed', error })
    }
  }
  return { phase, made, start, stop }
}

export function Playground() {
  const [settings, setSettings] = useState(stored)
  const change = (part: Partial<Settings>) => setSettings(old => ({ ...old, ...part }))
  const voices = useResource(api.voices, ['voices'])
  const { phase, made, start, stop } = useSpeech(settings)
  const [code, setCode] = useState(false)
  useEffect(() => keep(settings), [settings])
  const voice = voices.data?.find(one => one.id === settings.voice)
  useEffect(() => {
    if (voices.data && !voice) change({ voice: voices.data.find(one => one.state === 'ready')?.id ?? 'leah' })
  }, [voices.data, voice])
  const length = useMemo(() => countCharacters(settings.text), [settings.text])
  const ready = settings.text.trim() !== '' && length <= maxCharacters
  const making = phase.kind === 'making'
  const toggle = () => { if (making) stop(); else if (ready) start() }
  return <>
    <Header title={w.title} lead={w.lead}>
      <button class="button" onClick={() => setCode(true)}>{w.code}</button>
    </Header>
    <div class="playground">
      <div class="stage">
        <section class="card editor">
          <label class="hidden" for="text">{w.text}</label>
          <textarea id="text" value={settings.text} placeholder={w.placeholder} rows={7} dir="auto"
            onInput={e => change({ text: e.currentTarget.value })}
            onKeyDown={e => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { e.preventDefault(); toggle() } }} />
          <footer>
            <Cost length={length} markup={settings.text.trimStart().startsWith('<speak')} />
            <button class="button primary speak" disabled={!making && !ready} onClick={toggle}>
              {making ? <><span class="spinner" />{w.stop}</> : <><Icon name="play" />{w.speak}</>}
            </button>
          </footer>
        </section>
        {phase.kind === 'failed' && <Notice kind="error">{messageOf(phase.error)}</Notice>}
        {made ? <Result key={made.sound.address} made={made} making={making} onSeed={seed => change({ seed })} />
          : making ? <section class="card"><Skeleton rows={2} /></section>
            : <section class="card"><Empty icon="playground" title={w.empty} lead={w.emptyLead} /></section>}
      </div>
      <section class="card settings" aria-label={w.settings}>
        {voices.data ? <VoiceField voices={voices.data} voice={voice} onChange={id => change({ voice: id })} />
          : voices.error !== undefined ? <Failed error={voices.error} onRetry={voices.reload} /> : <Skeleton rows={1} />}
        <SettingFields settings={settings} onChange={change} />
      </section>
    </div>
    {code && <Code settings={settings} onClose={() => setCode(false)} />}
  </>
}

function Cost({ length, markup }: { length: number; markup: boolean }) {
  const { account } = useSigned()
  const left = account.data ? leftOf(account.data) : null
  const over = length - maxCharacters
  if (over > 0) return <p class="cost over" role="alert">{w.tooLong(characters(over))}</p>
  return <p class="cost">
    <span>{w.cost(characters(length))}</span>
    {markup && <span>{w.markup}</span>}
    {left !== null && <span class="faint">{w.left(characters(left))}</span>}
  </p>
}

function VoiceField({ voices, voice, onChange }: {
  voices: Voice[]; voice: Voice | undefined; onChange: (id: string) => void
}) {
  const [open, setOpen] = useState(false)
  return <div class="field">
    <span aria-hidden="true">{w.voice}</span>
    <button type="button" class="voice-button" aria-haspopup="dialog" onClick={() => setOpen(true)}>
      <Avatar name={voice?.name ?? ''} />
      <span><span class="hidden">{w.voice}: </span><bdi>{voice?.name ?? words.unknown}</bdi>{voice?.description && <small><bdi>{voice.description}</bdi></small>}</span>
      <Icon name="chevron" />
    </button>
    {open && <VoiceDialog voices={voices} chosen={voice?.id} onClose={() => setOpen(false)}
      onChoose={id => { onChange(id); setOpen(false) }} />}
  </div>
}

const sorted = byName(tongues)

function SettingFields({ settings, onChange }: { settings: Settings; onChange: (part: Partial<Settings>) => void }) {
  return <>
    <Field label={w.model}>
      <Select value={settings.model} options={Object.entries(w.models)} onChange={model => onChange({ model })} />
    </Field>
    <Field label={w.language}>
      <Select value={settings.language} options={[['auto', w.detect], ...sorted]} onChange={code => onChange({ language: code })} />
    </Field>
    <label class="field">
      <span class="row">{w.speed}<output>{settings.speed.toFixed(2)}×</output></span>
      <input type="range" min="0.25" max="2" step="0.05" value={settings.speed} onInput={e => onChange({ speed: Number(e.currentTarget.value) })} />
    </label>
    <details open={settings.variation !== '' || settings.seed !== ''}>
      <summary>{w.more}<Icon name="chevron" /></summary>
      <Field label={w.variation}>
        <Select value={settings.variation} options={Object.entries(w.variations).sort()} onChange={variation => onChange({ variation })} />
      </Field>
      <Field label={w.seed} hint={w.seedHint}>
        <input inputMode="numeric" value={settings.seed} autocomplete="off" maxLength={15}
          onInput={e => onChange({ seed: e.currentTarget.value = e.currentTarget.value.replace(/\D/g, '') })} />
      </Field>
    </details>
  </>
}

function Result({ made, making, onSeed }: { made: Made; making: boolean; onSeed: (seed: string) => void }) {
  const { sound } = made
  const left = sound.remaining === null ? null : characters(sound.remaining)
  return <section class="card result" aria-label={w.result} aria-busy={making}>
    <SoundPlayer made={made} />
    <footer>
      <p class="cost">
        <span>{left === null ? w.spentOnly(characters(sound.characters)) : w.spent(characters(sound.characters), left)}</span>
        {sound.seed && made.settings.variation && <button class="link" onClick={() => onSeed(sound.seed)}>{w.reuse}</button>}
      </p>
      {made.blob && <Download made={made} blob={made.blob} />}
    </footer>
  </section>
}

function Download({ made, blob }: { made: Made; blob: Blob }) {
  const [format, setFormat] = useState('mp3')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const take = async () => {
    setBusy(true)
    setError(undefined)
    try {
      const file = format === 'mp3' ? blob : await inFormat({ ...made.settings, seed: made.sound.seed }, format)
      save(file, 'speech.' + extensions[format])
      if (format !== 'mp3') announce('account', 'usage', 'clips')
    } catch (failure) {
      setError(failure)
    }
    setBusy(false)
  }
  return <div class="download">
    <Select label={w.format} value={format} options={Object.entries(w.formats)} onChange={setFormat} />
    <button class="button" disabled={busy} onClick={take}>{busy ? <span class="spinner" /> : <Icon name="download" />}{words.download}</button>
    <small>{format === 'mp3' ? w.free : w.again(characters(made.sound.characters))}</small>
    {error !== undefined && <Notice kind="error">{messageOf(error)}</Notice>}
  </div>
}

function Code({ settings, onClose }: { settings: Settings; onClose: () => void }) {
  const [chosen, setChosen] = useState<Language>('curl')
  const text = program(chosen, settings, 'mp3')
  return <Dialog title={w.code} onClose={onClose} wide>
    <p>{w.codeHint}</p>
    <Choice label={w.code} value={chosen} options={programs.map(name => [name, name])} onChange={setChosen} />
    <div class="code"><pre tabIndex={0}>{text}</pre><Copy text={text} /></div>
  </Dialog>
}
