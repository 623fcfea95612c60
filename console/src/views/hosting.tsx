import { useState } from 'preact/hooks'
import { ApiError, messageOf } from '../api'
import { hosting, type Project } from '../account'
import { announce } from '../live'
import { Field, Form, Icon, Notice, toast } from '../ui'
import { words } from '../words'

const w = words.hosting
const storageKey = 'hosting-config'

// given has the parameters that the hosting platform adds to the address when the integration is installed.
function given(): { config: string; code: string } {
  const query = new URLSearchParams(location.search)
  return { config: query.get('configurationId') ?? localStorage.getItem(storageKey) ?? '',
    code: query.get('code') ?? '' }
}

// Hosting connects an account of the hosting platform when its owner asks for it. A link alone must not connect it,
// because it could name another person's projects.
export function Hosting() {
  const [config, setConfig] = useState(() => given().config)
  const [code, setCode] = useState(() => given().code)
  const [found, setFound] = useState<{ projects: Project[]; complete: boolean }>()
  const connect = async () => {
    setFound(await hosting.projects(config.trim(), code.trim()))
    localStorage.setItem(storageKey, config.trim())
    setCode('') // the platform accepts it once
    if (location.search) history.replaceState(null, '', location.pathname + location.hash)
  }
  return <section aria-labelledby="hosting">
    <header class="section-header"><div><h2 id="hosting">{w.title}</h2><p>{w.lead}</p></div>
      {found && <button class="button small" onClick={() => setFound(undefined)}>{w.other}</button>}</header>
    {found ? <Projects config={config.trim()} {...found} onChange={projects => setFound({ ...found, projects })} />
      : <div class="card hosting"><Form submit={w.connect} disabled={!config.trim()} action={connect}>
        <Field label={w.config} hint={w.configHint}>
          <input value={config} maxLength={200} autocomplete="off" spellcheck={false}
            onInput={e => setConfig(e.currentTarget.value)} />
        </Field>
        <Field label={w.code} hint={w.codeHint}>
          <input value={code} maxLength={1000} autocomplete="off" spellcheck={false}
            onInput={e => setCode(e.currentTarget.value)} />
        </Field>
      </Form></div>}
  </section>
}

function Projects({ config, projects, complete, onChange }: {
  config: string; projects: Project[]; complete: boolean; onChange: (projects: Project[]) => void
}) {
  const [busy, setBusy] = useState('')
  const [error, setError] = useState<unknown>()
  const put = async (project: Project, on: boolean) => {
    setBusy(project.id)
    setError(undefined)
    try {
      const { failed } = await hosting.set(config, project.id, on)
      if (failed[0]) throw new ApiError(409, failed[0].message)
      onChange(projects.map(one => one.id === project.id ? { ...one, has_api_key: on } : one))
      toast(on ? w.put(project.name) : w.taken(project.name))
    } catch (failure) {
      setError(failure)
    }
    setBusy('')
    announce('account')
  }
  return <>
    {error !== undefined && <Notice kind="error">{messageOf(error)}</Notice>}
    {projects.length === 0 ? <div class="card"><p class="faint">{w.none}</p></div> : <div class="table stack"
      tabIndex={0} role="group" aria-label={w.title}>
      <table>
        <thead><tr><th>{w.project}</th><th>{w.state}</th><th class="end">
          <span class="hidden">{words.keys.actions}</span></th></tr></thead>
        <tbody>{projects.map(one => <tr key={one.id}>
          <th scope="row"><bdi class="name">{one.name}</bdi></th>
          <td>{one.has_api_key ? <span class="badge good">
            <Icon name="check" />{w.hasKey}</span> : <span class="faint">{w.hasNone}</span>}</td>
          <td class="end"><button class={`button small ${one.has_api_key ? 'danger-text' : ''}`} disabled={busy !== ''}
            aria-busy={busy === one.id}
            aria-label={(one.has_api_key ? w.takeFrom : w.putInto)(one.name)}
            onClick={() => put(one, !one.has_api_key)}>
            {one.has_api_key ? w.take : w.add}</button></td>
        </tr>)}</tbody>
      </table>
    </div>}
    {!complete && <p class="faint">{w.more}</p>}
  </>
}
