import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { api, messageOf, type Clip, type Voice, type WordTime } from '../api'
import { leftOf, useSigned } from '../app'
import { languages as programs, program, type Language } from '../code'
import type { Talk } from '../converse'
import { byName, characters, countCharacters, language, save } from '../format'
import { announce } from '../live'
import { silence } from '../player'
import { extensions, inFormat, isMarkup, live, maxCharacters, speak, type Settings, type Sound } from '../speech'
import { SoundPlayer } from '../sound-player'
import '../styles/playground.css'
import { canStream } from '../track'
import { Avatar, VoiceDialog } from '../voice-list'
import { Choice, Copy, Dialog, Empty, Field, Failed, Header, Icon, Loaded, Notice, Select, Skeleton, Time,
  useResource } from '../ui'
import { words } from '../words'
import { tongues } from '../tongues'
import { Editor } from './editor'

const w = words.playground

const initial: Settings = {
  text: w.sample, voice: 'leah', model: 'aurora', language: 'auto', speed: 1, variation: '', seed: '',
}

// The settings survive a reload, the text only in this tab.
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
    // Without the browser's storage, a reload restores the defaults.
  }
}

type Phase = { kind: 'idle' } | { kind: 'making' } | { kind: 'failed'; error: unknown }

// Made is a sound with its settings. It has a blob when it is complete.
interface Made { sound: Sound; settings: Settings; blob?: Blob; times?: WordTime[] }

// useSpeech makes one sound at a time, and releases the previous one.
function useSpeech(settings: Settings) {
  const [phase, setPhase] = useState<Phase>({ kind: 'idle' })
  const [made, setMade] = useState<Made>()
  const stopper = useRef<AbortController>(undefined)
  const sound = useRef<Sound>(undefined)
  const stop = () => { stopper.current?.abort(); sound.current?.track.pause(); setPhase({ kind: 'idle' }) }
  useEffect(() => () => { stopper.current?.abort(); sound.current?.track.release() }, [])
  const follow = async (settings: Settings, make: (signal: AbortSignal, more: (times: WordTime[]) => void) =>
    Promise<Sound>) => {
    stopper.current?.abort()
    sound.current?.track.pause()
    silence()
    const mine = stopper.current = new AbortController()
    setPhase({ kind: 'making' })
    let times: WordTime[] | undefined
    const more = (known: WordTime[]) =>
      { times = known; setMade(old => old && old.sound.id === own?.id ? { ...old, times: known } : old) }
    let own: Sound | undefined
    try {
      own = await make(mine.signal, more)
      sound.current?.track.release()
      sound.current = own
      setMade({ sound: own, settings, ...(times && { times }) })
      const complete = await own.complete
      if (mine.signal.aborted) return
      setMade(old => ({ sound: own!, settings: old?.settings ?? settings, ...complete }))
      setPhase({ kind: 'idle' })
      announce('account', 'usage', 'clips')
    } catch (error) {
      if (!mine.signal.aborted) setPhase({ kind: 'failed', error })
    }
  }
  const start = () => follow(settings, (signal, more) => speak(settings, signal, more))
  const converse = (began: (talk: Talk) => void) => follow({ ...settings, text: '' }, async (signal, more) => {
    const { sound, talk } = await live(settings, signal, more)
    setMade(undefined)
    began(talk)
    return sound
  })
  const said = (text: string) => setMade(old => old && {
    ...old, settings: { ...old.settings, text: old.settings.text + text },
    sound: { ...old.sound, characters: old.sound.characters + countCharacters(text) },
  })
  return { phase, made, start, stop, converse, said }
}

type Mode = 'whole' | 'live'

export function Playground() {
  const [settings, setSettings] = useState(stored)
  const change = (part: Partial<Settings>) => setSettings(old => ({ ...old, ...part }))
  const voices = useResource(api.voices, ['voices'])
  const speech = useSpeech(settings)
  const { phase, made, start, stop } = speech
  const [mode, setMode] = useState<Mode>('whole')
  const [open, setOpen] = useState<'code' | 'history'>()
  useEffect(() => keep(settings), [settings])
  const voice = voices.data?.find(one => one.id === settings.voice)
  useEffect(() => {
    if (voices.data && !voice) change({ voice: voices.data.find(one => one.state === 'ready')?.id ?? 'leah' })
  }, [voices.data, voice])
  const length = useMemo(() => countCharacters(settings.text), [settings.text])
  const ready = settings.text.trim() !== '' && length <= maxCharacters
  const making = phase.kind === 'making'
  const toggle = () => { if (making) stop(); else if (ready) start() }
  const close = () => setOpen(undefined)
  return <>
    <Header title={w.title} lead={w.lead}>
      <button class="button" onClick={() => setOpen('history')}>{w.history}</button>
      <button class="button" onClick={() => setOpen('code')}>{w.code}</button>
    </Header>
    <div class="playground">
      <div class="stage">
        <section class="card editor" aria-label={w.text}>
          {canStream() && <header><Choice label={w.mode} value={mode} options={[['whole', w.whole], ['live', w.live]]}
            onChange={next => { stop(); setMode(next) }} /></header>}
          {mode === 'live' ? <Live speech={speech} /> : <>
            <Editor text={settings.text} onChange={text => change({ text })} onSubmit={toggle} />
            <footer>
              <Cost length={length} markup={isMarkup(settings.text)} />
              <button class="button primary speak" disabled={!making && !ready} onClick={toggle}>
                {making ? <><span class="spinner" />{w.stop}</> : <><Icon name="play" />{w.speak}</>}
              </button>
            </footer>
          </>}
        </section>
        {phase.kind === 'failed' && <Notice kind="error">{messageOf(phase.error)}</Notice>}
        {made ? <Result key={made.sound.id} made={made} making={making} onSeed={seed => change({ seed })} />
          : making && mode === 'whole' ? <section class="card"><Skeleton rows={2} /></section>
            : <section class="card"><Empty icon="playground" title={w.empty}
              lead={mode === 'live' ? w.emptyLive : w.emptyLead} /></section>}
      </div>
      <section class="card settings" aria-label={w.settings}>
        {voices.data ? <VoiceField voices={voices.data} voice={voice} onChange={id => change({ voice: id })} />
          : voices.error !== undefined ? <Failed error={voices.error}
            onRetry={voices.reload} /> : <div class="voice-button waiting" />}
        <SettingFields settings={settings} onChange={change} />
      </section>
    </div>
    {open === 'code' && <Code settings={settings} onClose={close} />}
    {open === 'history' && <History voices={voices.data} onClose={close}
      onTake={part => { setMode('whole'); change(part); close() }} />}
  </>
}

// Live sends text word by word as it is typed. Sent text is spoken and can no longer be changed.
function Live({ speech }: { speech: ReturnType<typeof useSpeech> }) {
  const [text, setText] = useState('')
  const talk = useRef<Talk>(undefined)
  const making = speech.phase.kind === 'making'
  const say = (words: string) => {
    if (!words || !talk.current) return
    talk.current.say(words)
    speech.said(words)
  }
  const begin = () => { talk.current = undefined; speech.converse(began => { talk.current = began }) }
  const typed = (event: InputEvent & { currentTarget: HTMLInputElement }) => {
    const all = event.currentTarget.value
    const end = event.isComposing ? 0 : all.search(/\s\S*$/) + 1 // input methods may still change the text
    say(all.slice(0, end))
    setText(event.currentTarget.value = all.slice(end))
  }
  const enter = () => { say(text + ' '); setText(''); talk.current?.flush() }
  const finish = () => { say(text); setText(''); talk.current?.finish() }
  return <>
    <form class="typing" onSubmit={event => { event.preventDefault(); if (making) enter(); else begin() }}>
      <label class="hidden" for="live">{w.liveText}</label>
      <input id="live" value={text} dir="auto" autocomplete="off" maxLength={2000} disabled={!making} onInput={typed}
        placeholder={making ? w.livePlaceholder : w.liveFirst}
        ref={field => { if (making && field && document.activeElement === document.body) field.focus() }} />
    </form>
    <footer>
      <p class="cost"><span>{w.liveCost}</span></p>
      {making ? <button class="button primary speak" onClick={finish}><span class="spinner" />{w.finish}</button>
        : <button class="button primary speak" onClick={begin}><Icon name="play" />{w.begin}</button>}
    </footer>
  </>
}

// History offers the latest clips and restores their text and settings.
function History({ voices, onTake, onClose }: {
  voices: Voice[] | undefined; onTake: (part: Partial<Settings>) => void; onClose: () => void
}) {
  const clips = useResource(() => api.clips('page_size=20'), ['clips'])
  const take = (clip: Clip) => onTake({
    text: clip.text ?? '', voice: clip.voice, speed: clip.speed ?? 1, seed: '',
    language: tongues.includes(clip.language ?? '') ? clip.language! : 'auto',
  })
  return <Dialog title={w.history} onClose={onClose}>
    <p class="faint">{w.historyLead}</p>
    <Loaded of={clips}>
      {({ clips: all }) => {
        const list = all.filter(clip => clip.text !== null)
        if (list.length === 0) return <Empty icon="clips" title={words.clips.none} lead={words.clips.noneLead} />
        return <ul class="history">{list.map(clip => <li key={clip.id}>
          <button type="button" onClick={() => take(clip)}>
            <span dir="auto">{clip.text}</span>
            <small><bdi>{voices?.find(voice => voice.id === clip.voice)?.name ?? clip.voice}</bdi>
              {clip.language && <span>{language(clip.language)}</span>}<Time at={clip.timestamp} relative /></small>
          </button>
        </li>)}</ul>
      }}
    </Loaded>
  </Dialog>
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
      <span><span class="hidden">{w.voice}: </span><bdi>{voice?.name ?? words.unknown}</bdi>{voice?.description
        && <small><bdi>{voice.description}</bdi></small>}</span>
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
      <Select value={settings.language} options={[['auto', w.detect], ...sorted]}
        onChange={code => onChange({ language: code })} />
    </Field>
    <label class="field">
      <span class="row">{w.speed}<output>{settings.speed.toFixed(2)}×</output></span>
      <input type="range" min="0.25" max="2" step="0.05" value={settings.speed}
        onInput={e => onChange({ speed: Number(e.currentTarget.value) })} />
    </label>
    <details open={settings.variation !== '' || settings.seed !== ''}>
      <summary>{w.more}<Icon name="chevron" /></summary>
      <Field label={w.variation}>
        <Select value={settings.variation} options={Object.entries(w.variations).sort()}
          onChange={variation => onChange({ variation })} />
      </Field>
      <Field label={w.seed} hint={w.seedHint}>
        <input inputMode="numeric" value={settings.seed} autocomplete="off" maxLength={15}
          onInput={e => onChange({ seed: e.currentTarget.value = e.currentTarget.value.replace(/\D/g, '') })} />
      </Field>
    </details>
  </>
}

function Result({ made, making, onSeed }: { made: Made; making: boolean; onSeed: (seed: string) => void }) {
  const { sound, settings, blob, times } = made
  const { account } = useSigned()
  const left = sound.remaining ?? (!making && account.data ? leftOf(account.data) : null)
  return <section class="card result" aria-label={w.result} aria-busy={making}>
    <SoundPlayer of={{ track: sound.track, text: settings.text, blob, times }} />
    <footer>
      <p class="cost">
        <span>{left === null ? w.spentOnly(characters(sound.characters)) : w.spent(characters(sound.characters),
          characters(left))}</span>
        {sound.seed && settings.variation && <button class="link" onClick={() => onSeed(sound.seed)}>{w.reuse}</button>}
      </p>
      {blob && <Download made={made} blob={blob} />}
    </footer>
  </section>
}

function Download({ made, blob }: { made: Made; blob: Blob }) {
  const own = blob.type === 'audio/wav' ? 'wav' : 'mp3'
  const [format, setFormat] = useState(own)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const tooLong = format !== own && countCharacters(made.settings.text) > maxCharacters
  const take = async () => {
    setBusy(true)
    setError(undefined)
    try {
      const file = format === own ? blob : await inFormat({ ...made.settings, seed: made.sound.seed }, format)
      save(file, 'speech.' + extensions[format])
      if (format !== own) announce('account', 'usage', 'clips')
    } catch (failure) {
      setError(failure)
    }
    setBusy(false)
  }
  return <div class="download">
    <Select label={w.format} value={format} options={Object.entries(w.formats)} onChange={setFormat} />
    <button class="button" disabled={busy || tooLong}
      onClick={take}>{busy ? <span class="spinner" /> : <Icon name="download" />}{words.download}</button>
    <small>{format === own ? w.free : tooLong ? w.tooLongAgain : w.again(characters(made.sound.characters))}</small>
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
