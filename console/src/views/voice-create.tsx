// Making a voice from a microphone recording or from files, whose quality is shown first.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { api, here, type Precheck, type Voice } from '../api'
import { clock } from '../format'
import { announce } from '../live'
import { silence, usePlayer } from '../player'
import { longest, useRecorder } from '../recorder'
import { outlineOf, type Outline } from '../speech'
import '../styles/voices.css'
import { Choice, Dialog, Field, Form, Icon, Notice, Select, Skeleton, toast, useResource } from '../ui'
import { Avatar, State } from '../voice-list'
import { words } from '../words'

const w = words.voices

const genders = Object.entries(w.genders)
const shortest = 10 // seconds of a usable recording

type Source = 'record' | 'files'

export function Create({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('')
  const [gender, setGender] = useState('U')
  const [source, setSource] = useState<Source>(canRecord() ? 'record' : 'files')
  const [recording, setRecording] = useState<File>()
  const [files, setFiles] = useState<File[]>([])
  const [enhance, setEnhance] = useState(false)
  const [made, setMade] = useState<Voice>()
  const used = source === 'files' ? files : recording ? [recording] : []
  if (made) return <Compare made={made} recording={used[0]!} onClose={onClose} />
  return <Dialog title={w.create} onClose={onClose} wide>
    <Form submit={w.create} onCancel={onClose} disabled={!name.trim() || used.length === 0} action={async () => {
      const form = new FormData()
      form.set('name', name.trim())
      form.set('gender', gender)
      form.set('enhance', String(enhance))
      used.forEach(file => form.append('files', file))
      const voice = await api.createVoice(form)
      silence()
      announce('voices', 'account')
      setMade(voice)
    }}>
      <Field label={w.name}>
        <input value={name} maxLength={200} autofocus autocomplete="off"
          onInput={e => setName(e.currentTarget.value)} />
      </Field>
      {canRecord() && <Choice label={w.source} value={source} options={[['record', w.record], ['files', w.fromFiles]]}
        onChange={setSource} />}
      {source === 'record' ? <Microphone recording={recording} onRecorded={setRecording} />
        : <Field label={w.files} hint={w.filesHint}>
          <input type="file" accept="audio/*,video/mp4,video/webm" multiple
            onChange={e => setFiles([...e.currentTarget.files ?? []])} />
        </Field>}
      <Checks files={used} />
      <Field label={w.gender}><Select value={gender} options={genders} onChange={setGender} /></Field>
      <label class="check">
        <input type="checkbox" checked={enhance} onChange={e => setEnhance(e.currentTarget.checked)} />
          <span>{w.enhance}</span>
      </label>
    </Form>
  </Dialog>
}

const canRecord = () => 'MediaRecorder' in window && !!navigator.mediaDevices

function Microphone({ recording, onRecorded }: { recording: File | undefined; onRecorded: (file: File | undefined) =>
  void }) {
  const { state, level, seconds, start, stop } = useRecorder(onRecorded)
  const on = state.kind === 'recording'
  const begin = () => { silence(); onRecorded(undefined); start() }
  return <div class="microphone">
    <p class="faint">{w.guide}</p>
    <blockquote class={on ? 'reading' : ''}>{w.passage}</blockquote>
    {state.kind === 'refused' && <Notice kind="error">{w.noMicrophone}</Notice>}
    <div class="recording">
      <button type="button" class={`button ${on ? 'danger' : 'primary'}`} onClick={on ? stop : begin}>
        <Icon name={on ? 'stop' : 'voices'} />{on ? w.stop : recording ? w.again : w.start}
      </button>
      {on && <Level level={level} />}
      {on && <output>{clock(seconds)} / {clock(longest)}{seconds < shortest
        && <small>{w.atLeast(w.seconds(String(shortest)))}</small>}</output>}
    </div>
  </div>
}

// Level shows the loudest sample in decibels, from -60 to 0.
function Level({ level }: { level: number }) {
  const decibels = level > 0 ? Math.max(-60, 20 * Math.log10(level)) : -60
  const word = decibels > -1.5 ? 'high' : decibels < -32 ? 'low' : 'good'
  return <span class={`level ${word}`}>
    <meter min={-60} max={0} value={decibels} aria-label={w.level} />
    <span class="bar" aria-hidden="true"><span style={{ width: `${(decibels + 60) / 0.6}%` }} /></span>
    <small>{w.levels[word]}</small>
  </span>
}

// Checked is the check of a recording, or null if it failed.
interface Checked { outline: Outline | null; found: Precheck | null }

// Checks rates the recordings in sequence, because the service accepts one at a time from an address.
function Checks({ files }: { files: File[] }) {
  const [checked, setChecked] = useState<ReadonlyMap<File, Checked>>(new Map())
  const next = files.slice(0, 20).find(file => !checked.has(file))
  useEffect(() => {
    if (!next) return
    let left = false
    check(next).then(one => { if (!left) setChecked(old => new Map(old).set(next, one)) })
    return () => { left = true }
  }, [next])
  return <>{files.slice(0, 20).map(file => {
    const one = checked.get(file)
    return one ? <Check key={file.name} file={file} checked={one} />
      : file === next ? <Skeleton key={file.name} rows={1} /> : null
  })}</>
}

async function check(file: File): Promise<Checked> {
  const form = new FormData()
  form.set('file', file)
  const [outline, found] = await Promise.all([outlineOf(file, bars).catch(() => null),
    api.precheck(form).catch(() => null)])
  return { outline, found }
}

const bars = 120

function Check({ file, checked: { outline, found } }: { file: File; checked: Checked }) {
  const address = useMemo(() => URL.createObjectURL(file), [file])
  useEffect(() => () => { silence(); URL.revokeObjectURL(address) }, [address])
  const rank = !found ? 'poor' : found.dnsmos >= 3.5 ? 'good' : found.dnsmos >= 2.5 ? 'fair' : 'poor'
  const kept = found && outline ? w.kept(clock(found.start_s), clock(Math.ceil(found.end_s)),
    clock(Math.ceil(outline.seconds))) : ''
  return <div class="checked">
    <Hear id={address} address={address} label={w.reference} />
    <div>
      {outline && <svg viewBox={`0 0 ${bars * 4} 48`} preserveAspectRatio="none" role="img"
        aria-label={kept || w.reference}>
        {outline.peaks.map((peak, i) => {
          const at = (i + 0.5) / bars * outline.seconds
          const used = !found || at >= found.start_s && at <= found.end_s
          return <rect key={i} class={used ? 'used' : ''} x={i * 4 + 0.75} y={24 - Math.max(1.5, peak * 22)} width={2.5}
            height={Math.max(3, peak * 44)} rx={1.2} />
        })}
      </svg>}
      {found ? <small><strong class={rank}>{w.quality(found.dnsmos.toFixed(1), w.qualities[rank])}</strong> {kept}
        </small> : <small>{w.notChecked}</small>}
    </div>
  </div>
}

function Hear({ id, address, label }: { id: string; address: string; label: string }) {
  const [playing, play] = usePlayer()
  const on = playing === id
  return <button type="button" class="round small" aria-label={on ? `${w.stopSound}: ${label}` : label}
    onClick={() => play(id, address, () => toast(w.previewFailed))}><Icon name={on ? 'stop' : 'play'} /></button>
}

// Compare plays the recording and the voice made from it.
function Compare({ made, recording, onClose }: { made: Voice; recording: File; onClose: () => void }) {
  const voices = useResource(api.voices, ['voices'])
  const voice = voices.data?.find(one => one.id === made.id) ?? made
  const address = useMemo(() => URL.createObjectURL(recording), [recording])
  useEffect(() => () => { silence(); URL.revokeObjectURL(address) }, [address])
  return <Dialog title={w.compareTitle} onClose={onClose}>
    <p>{voice.state === 'ready' ? w.compareLead(voice.name) : voice.reason ?? w.waitLead(voice.name)}</p>
    <ul class="compare">
      <li><Icon name="voices" /><span>{w.reference}</span><Hear id={address} address={address}
        label={w.reference} /></li>
      <li><Avatar name={voice.name} /><span class="line"><bdi>{voice.name}</bdi><State voice={voice} /></span>
        {voice.preview_url && voice.state === 'ready' && <Hear id={voice.id} address={here(voice.preview_url)}
          label={w.clone} />}</li>
    </ul>
    <footer><button class="button primary" onClick={onClose}>{w.done}</button></footer>
  </Dialog>
}
