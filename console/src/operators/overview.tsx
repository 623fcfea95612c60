// Open alerts, the parts, the last hour of this instance, and the instances.
import { useState } from 'preact/hooks'
import { duration, number, unix } from '../format'
import { announce } from '../live'
import { Empty, Header, Icon, Loaded, Skeleton, Time, undoable, useResource, type Resource } from '../ui'
import { api, type Alert, type Doctor, type Figure, type Figures, type Overview as Models } from './api'
import { useChanges } from './app'
import { Lines } from './lines'
import { SectionHeader, State, Table, usePolling } from './parts'
import { words } from './words'

const w = words.overview
const hour = 3600
const often = 10_000, seldom = 60_000 // milliseconds; the doctor tests each part

// Overview waits for both sections at its top, so that neither moves the other.
export function Overview() {
  const alerts = useResource(api.alerts, ['operators'])
  const figures = useResource(api.figures, ['operators'])
  usePolling(alerts.reload, often)
  usePolling(figures.reload, often)
  const ready = [alerts, figures].every(one => one.data !== undefined || one.error !== undefined)
  return <>
    <Header title={w.title} lead={w.lead} />
    {ready ? <><Alerts of={alerts} /><LastHour of={figures} /><Parts /></> : <Skeleton rows={10} />}
  </>
}

function Alerts({ of: alerts }: { of: Resource<Alert[]> }) {
  const [cleared, setCleared] = useState<ReadonlySet<string>>(new Set())
  const clear = (one: Alert) => {
    setCleared(old => new Set(old).add(one.id))
    const undone = () => setCleared(old => new Set([...old].filter(id => id !== one.id)))
    undoable(w.cleared, async () => { await api.clearAlert(one.id); announce('operators') }, undone)
  }
  return <section aria-labelledby="alerts">
    <SectionHeader id="alerts" title={w.alerts} />
    <Loaded of={alerts}>{list => {
      const open = list.filter(one => !cleared.has(one.id))
      if (open.length === 0) return <div class="card calm"><Icon name="check" /><span>{w.noAlert}</span></div>
      return <ul class="alerts card">{open.map(one =>
        <AlertRow key={one.id + one.sentence} alert={one} onClear={() => clear(one)} />)}</ul>
    }}</Loaded>
  </section>
}

function AlertRow({ alert, onClear }: { alert: Alert; onClear: () => void }) {
  const changes = useChanges()
  return <li>
    <Icon name="alert" />
    <div class="about">
      <p><bdi>{alert.sentence}</bdi></p>
      <small>{alert.advice}</small>
      <small><Time at={unix(alert.since)} relative /> · {alert.lasting ? w.endsItself : w.needsClearing}</small>
    </div>
    {changes && alert.id && <button class="button small" onClick={onClear}>{w.clear}</button>}
  </li>
}

function LastHour({ of }: { of: Resource<Figures> }) {
  return <section aria-labelledby="hour">
    <SectionHeader id="hour" title={w.hour} lead={w.hourLead} />
    <Loaded of={of}>{({ figures: all, every }) => <Plots figures={all} every={every} />}</Loaded>
  </section>
}

function Plots({ figures, every }: { figures: Figure[]; every: number }) {
  const times = figures.map(one => unix(one.at))
  const values = (of: (one: Figure) => number | null) => figures.map(of)
  const perSecond = (n: number) => w.perSecond(n, number(n < 10 ? Math.round(n * 100) / 100 : Math.round(n)))
  return <div class="plots">
    <Lines title={w.speech} times={times} span={hour} shown={perSecond} lines={[
      { name: w.characters, kind: 'first', values: values(one => one.characters / every) }]} />
    <Lines title={w.firstAudio} times={times} span={hour} shown={duration} least={0.1} lines={[
      { name: w.median, kind: 'first', values: values(one => one.first_audio) },
      { name: w.slow, kind: 'second', values: values(one => one.first_audio_p95) }]} />
    <Lines title={w.errors} times={times} span={hour} shown={n => number(Math.round(n * 10) / 10)} least={2} lines={[
      { name: w.requests, kind: 'first', values: values(one => one.errors) },
      { name: w.syntheses, kind: 'second', values: values(one => one.failures) }]} />
  </div>
}

const order = ['fault', 'warning', 'unknown', 'ok']

function Parts() {
  const doctor = useResource(api.doctor, ['operators'])
  const models = useResource(api.models, ['operators'])
  usePolling(doctor.reload, seldom)
  return <>
    <section aria-labelledby="parts">
      <SectionHeader id="parts" title={w.parts} lead={w.partsLead} />
      <Loaded of={doctor} rows={5}>{found => <Findings of={found} />}</Loaded>
    </section>
    <section aria-labelledby="instances">
      <SectionHeader id="instances" title={w.instances} lead={w.instancesLead} />
      <Loaded of={doctor} rows={1}>{here => <Instances here={here} models={models.data} />}</Loaded>
    </section>
  </>
}

function Findings({ of }: { of: Doctor }) {
  const sorted = [...of.findings].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
  if (sorted.length === 0) return <Empty icon="overview" title={w.noParts} />
  return <ul class="findings card">{sorted.map(one => <li key={one.check}>
    <State of={one.state} />
    <div class="about">
      <span>{one.check}</span>
      {one.found && <small><bdi>{one.found}</bdi></small>}
      {one.state !== 'ok' && one.advice && <p>{one.advice}</p>}
    </div>
  </li>)}</ul>
}

// feedsOf counts the generations that each instance feeds. A cut off name is the beginning of a known one.
function feedsOf(here: Doctor, models: Models | undefined): Map<string, number> {
  const counts = new Map([[here.instance, 0]])
  for (const { instance } of models?.projections ?? [])
    if (instance) counts.set(instance, (counts.get(instance) ?? 0) + 1)
  for (const name of models?.instances ?? []) {
    if (![...counts.keys()].some(known => known.startsWith(name))) counts.set(name, 0)
  }
  return counts
}

function Instances({ here, models }: { here: Doctor; models: Models | undefined }) {
  return <Table label={w.instances} head={[w.instance, w.feeds, w.version]}>
    {[...feedsOf(here, models)].map(([name, feeds]) => <tr key={name}>
      <th scope="row"><bdi class="name">{name}</bdi>{name === here.instance
        && <span class="badge good here">{w.here}</span>}</th>
      <td>{feeds > 0 ? w.generations(feeds, number(feeds)) : <span class="faint">{w.idle}</span>}</td>
      <td>{name === here.instance ? here.version : words.nothing}</td>
    </tr>)}
  </Table>
}
