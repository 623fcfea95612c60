// A clip: its sound with its waveform and, on request, the times of its words.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, here, messageOf, type Clip, type WordTime } from '../api'
import { dateTime, language, save } from '../format'
import { canPlay, extensionOf } from '../media'
import { SoundPlayer } from '../sound-player'
import { ElementTrack, measured } from '../track'
import { Dialog, Failed, Icon, Notice, Select, Skeleton } from '../ui'
import { asJSON, asSRT, asText, timesOf } from '../word-times'
import { words } from '../words'

const w = words.clips

interface Loaded { blob: Blob; track: ElementTrack }

// useSound loads the audio of a clip, and releases it with the dialog.
function useSound(clip: Clip): { sound: Loaded | undefined; error: unknown; load: () => void } {
  const [state, setState] = useState<{ sound?: Loaded; error?: unknown }>({})
  const track = useRef<ElementTrack>(undefined)
  const load = () => {
    setState({})
    fetch(here(clip.url)).then(async response => {
      if (!response.ok) throw new ApiError(response.status, w.failed)
      const blob = await measured(new Blob([await response.blob()], { type: clip.media_type }))
      track.current = new ElementTrack(URL.createObjectURL(blob))
      setState({ sound: { blob, track: track.current } })
    }).catch(error => setState({ error: error instanceof ApiError ? error : new ApiError(0, words.unreachable) }))
  }
  useEffect(() => { load(); return () => track.current?.release() }, [])
  return { sound: state.sound, error: state.error, load }
}

export function ClipDialog({ clip, name, onClose }: { clip: Clip; name: string; onClose: () => void }) {
  const { sound, error, load } = useSound(clip)
  const [times, setTimes] = useState<WordTime[]>()
  const text = clip.text ?? w.gone
  return <Dialog title={w.title1} onClose={onClose} wide>
    <p class="faint clip-facts"><bdi>{name}</bdi>{clip.language && <span>{language(clip.language)}</span>}
      <span>{dateTime(clip.timestamp)}</span></p>
    {error !== undefined ? <Failed error={error} onRetry={load} /> : !sound ? <Skeleton rows={2} />
      : canPlay(clip) ? <SoundPlayer of={{ track: sound.track, text, blob: sound.blob, times }} silent />
        : <><p>{w.unplayable}</p><p class="transcript" dir="auto">{text}</p></>}
    {sound && <footer>
      {clip.text !== null && canPlay(clip) && <Times clip={clip} sound={sound.blob} times={times} onTimes={setTimes} />}
      <button class="button" onClick={() => save(sound.blob, 'clip.' + extensionOf(clip))}>
        <Icon name="download" />{w.sound}</button>
    </footer>}
  </Dialog>
}

type As = keyof typeof w.timesAs
const writers = { srt: asSRT, json: asJSON, txt: asText }

function Times({ clip, sound, times, onTimes }: {
  clip: Clip; sound: Blob; times: WordTime[] | undefined; onTimes: (times: WordTime[]) => void
}) {
  const [state, setState] = useState<{ busy: boolean; error?: unknown }>({ busy: false })
  const [as, setAs] = useState<As>('srt')
  const left = useRef(new AbortController())
  useEffect(() => () => left.current.abort(), [])
  const find = async () => {
    setState({ busy: true })
    try {
      onTimes(await timesOf(clip.text!, clip.language, sound, left.current.signal))
      setState({ busy: false })
    } catch (error) {
      setState({ busy: false, error })
    }
  }
  if (times) {
    return <span class="download">
      <Select label={w.times} value={as} options={Object.entries(w.timesAs) as [As, string][]} onChange={setAs} />
      <button class="button" onClick={() => save(new Blob([writers[as](times)], { type: 'text/plain' }), 'clip.' + as)}>
        <Icon name="download" />{w.times}
      </button>
    </span>
  }
  return <>
    {state.error !== undefined && <Notice kind="error">{messageOf(state.error)}</Notice>}
    <button class="button" disabled={state.busy}
      onClick={find}>{state.busy && <span class="spinner" />}{w.findTimes}</button>
  </>
}
