import { api, here, signInAddress, type Provider } from '../api'
import { Logo } from '../logo'
import { usePlayer } from '../player'
import { Icon, Loaded, Notice, toast, useResource } from '../ui'
import { words } from '../words'

const w = words.welcome

// known maps issuers to the names that people know.
const known: Record<string, string> = {
  'accounts.google.com': 'Google', 'login.microsoftonline.com': 'Microsoft', 'appleid.apple.com': 'Apple',
  'gitlab.com': 'GitLab', 'www.linkedin.com': 'LinkedIn',
}

// labelOf returns the name of a provider. Providers for development are on this machine.
function labelOf({ provider, issuer }: Provider): string {
  const host = new URL(issuer).hostname
  if (host === '127.0.0.1' || host === 'localhost' || host === '[::1]')
    return w.development(provider.replace('idp_', ''))
  return w.with(known[host] ?? host.replace(/^(www|auth|login|accounts|id|sso)\./, ''))
}

// failure returns the message for a failed sign-in.
function failure(): string | undefined {
  const reason = new URLSearchParams(location.search).get('error')
  return reason === null ? undefined : w.failed[reason] ?? w.failed.other
}

export function Welcome({ ended }: { ended: boolean }) {
  const providers = useResource(api.providers, [])
  const [playing, play] = usePlayer()
  const failed = failure()
  const sounding = playing === 'sample'
  return <main class="welcome">
    <div class="brand"><Logo />{words.product}</div>
    <h1>{w.title}</h1>
    <p class="lead">{w.lead}</p>
    <button class="button sample"
      onClick={() => play('sample', here('v1/ai/voice/leah/preview'), () => toast(w.sampleFailed))}>
      <Icon name={sounding ? 'pause' : 'play'} />{sounding ? w.pause : w.hear}
    </button>
    <section class="card" aria-labelledby="sign-in">
      <h2 id="sign-in">{w.signIn}</h2>
      {ended && <Notice kind="info">{words.signedOut}</Notice>}
      {failed && <Notice kind="error">{failed}</Notice>}
      <Loaded of={providers} rows={2}>
        {list => list.length === 0 ? <p>{w.noProviders}</p> : <div class="providers">
          {list.map((provider, i) => <a key={provider.provider} class={`button ${i === 0 ? 'primary' : ''}`}
            href={signInAddress(provider.provider)}>{labelOf(provider)}</a>)}
        </div>}
      </Loaded>
      <small>{w.fine}</small>
    </section>
    <ul class="points">
      {w.points.map(([title, text]) => <li key={title}><strong>{title}</strong><span>{text}</span></li>)}
    </ul>
  </main>
}
