import { useState } from 'preact/hooks'
import { activity, type Act, type Area } from '../account'
import { useSigned } from '../app'
import { Choice, Empty, Loaded, Time, useResource } from '../ui'
import { words } from '../words'

const w = words.activity
const pageSize = 20

export function Activity() {
  const [area, setArea] = useState<Area>('sessions')
  const [tokens, setTokens] = useState<string[]>(['']) // of the pages up to the current one
  const at = tokens[tokens.length - 1]!
  const acts = useResource(() => activity(area, pageSize, at), ['account', 'sessions', 'billing', 'voices'], area + at)
  const choose = (next: Area) => { setArea(next); setTokens(['']) }
  return <section aria-labelledby="activity">
    <header class="section-header">
      <div><h2 id="activity">{w.title}</h2><p>{w.lead}</p></div>
      <Choice label={w.area} value={area} onChange={choose} options={Object.entries(w.areas) as [Area, string][]} />
    </header>
    <Loaded of={acts} rows={4}>{({ entries, next_page_token: next }) => entries.length === 0
      ? <div class="card"><Empty icon="security" title={w.none} /></div>
      : <>
        <Table acts={entries} />
        {(next !== null || tokens.length > 1) && <div class="pager">
          <button class="button small" disabled={tokens.length === 1}
            onClick={() => setTokens(tokens.slice(0, -1))}>{w.newer}</button>
          <button class="button small" disabled={next === null}
            onClick={() => setTokens([...tokens, next!])}>{w.older}</button>
        </div>}
      </>}</Loaded>
  </section>
}

function Table({ acts }: { acts: Act[] }) {
  const { profile } = useSigned()
  return <div class="table stack acts-table" tabIndex={0} role="group" aria-label={w.title}>
    <table>
      <thead><tr><th>{w.what}</th><th>{w.who}</th><th>{w.from}</th><th>{w.when}</th></tr></thead>
      <tbody>{acts.map((one, i) => <tr key={i}>
        <th scope="row"><bdi>{w.sentence(one.sentence, profile.id)}</bdi></th>
        <td>{by(one)}</td>
        <td>{one.address === null ? words.none : <bdi>{one.address}</bdi>}</td>
        <td><Time at={one.at} relative /></td>
      </tr>)}</tbody>
    </table>
  </div>
}

function by(one: Act) {
  if (one.by !== 'owner') return w.by[one.by]
  return one.api_key === null ? w.by.owner : <>{w.withKey} <code>{one.api_key}</code></>
}
