// The page for entering cards. Only its policy admits the payment provider's script, so the console does not load it.
import { render, type ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, messageOf } from './api'
import { Logo } from './logo'
import { billing, cardTask, leaveCard, type CardTask } from './billing'
import { money } from './format'
import { Empty, Form, Loaded, Notice, Skeleton, useResource } from './ui'
import { words } from './words'

const w = words.card

// Intent is the result of a payment or a card's registration from Stripe.js or the sandbox's page.
interface Intent { id: string; status: string; payment_method?: string | { id: string } | null }
interface Result { error?: { message?: string }; paymentIntent?: Intent; setupIntent?: Intent }
interface Elements {
  create: (kind: 'payment') => {
    mount: (box: HTMLElement) => void; on: (what: 'ready' | 'loaderror', then: () => void) => void
  }
}
interface Stripe {
  elements: (options: object) => Elements
  retrievePaymentIntent: (secret: string) => Promise<Result>
  retrieveSetupIntent: (secret: string) => Promise<Result>
  confirmPayment: (options: object) => Promise<Result>
  confirmSetup: (options: object) => Promise<Result>
  handleNextAction: (options: { clientSecret: string }) => Promise<Result>
}
declare global { interface Window { Stripe?: (key: string) => Stripe } }

const script = 'https://js.stripe.com/clover/stripe.js'

function CardPage() {
  const [task] = useState(cardTask)
  const form = useResource(billing.cardForm, [])
  const [signedOut, setSignedOut] = useState(false)
  useEffect(() => { document.title = `${w.title} · ${words.product}` }, [])
  useEffect(() => addEventListener('signed-out', () => setSignedOut(true)), [])
  return <main class="bare card-page">
    <div class="brand"><Logo />{words.product}</div>
    {signedOut && <Notice kind="error">{w.signedOut}</Notice>}
    <section class="card">
      {!task ? <><h1 class="hidden">{w.title}</h1><Empty icon="billing" title={w.none} lead={w.noneLead} /></> : <>
        <header>
          <h1 tabIndex={-1}><bdi>{task.title}</bdi></h1>
          {task.purpose === 'register' ? <p class="faint">{w.register}</p>
            : task.amount !== null && task.currency && <p class="price">{w.pay(money(task.amount, task.currency))}</p>}
        </header>
        <Loaded of={form} rows={3}>{({ publishable_key: key, page }) => key ? <AtStripe task={task}
          publishableKey={key} />
          : page ? <AtSandbox task={task} page={page} /> : <Empty icon="billing" title={w.noForm}
            lead={w.noFormLead} />}</Loaded>
      </>}
    </section>
    <footer><a href="../console#/billing" onClick={event => { event.preventDefault(); leaveCard() }}>{w.back}</a>
      <small>{w.secure}</small></footer>
  </main>
}

// useFinish returns a function that completes a task after its success, and a notice if that fails.
function useFinish(task: CardTask): [(intent: Intent) => Promise<void>, ComponentChildren] {
  const [failed, setFailed] = useState<{ intent: Intent; error: unknown }>()
  const finish = async (intent: Intent) => {
    setFailed(undefined)
    try {
      const method = typeof intent.payment_method === 'string' ? intent.payment_method : intent.payment_method?.id
      if (task.purpose === 'register') await billing.useCard(method ?? '')
      leaveCard(task.purpose)
    } catch (error) {
      setFailed({ intent, error })
    }
  }
  return [finish, failed && <Notice kind="error"
    onRetry={() => finish(failed.intent)}>{messageOf(failed.error)}</Notice>]
}

const over = (intent: Intent | undefined) => intent !== undefined && ['succeeded', 'processing'].includes(intent.status)

// AtSandbox opens the page of the sandbox, which informs its opener when it is done.
function AtSandbox({ task, page }: { task: CardTask; page: string }) {
  const [done, setDone] = useState(false)
  const [finish, failure] = useFinish(task)
  const address = page.replace('{client_secret}', encodeURIComponent(task.secret)) + '?opener='
    + encodeURIComponent(location.origin)
  useEffect(() => {
    const told = (event: MessageEvent<Result>) => {
      const intent = event.data?.setupIntent ?? event.data?.paymentIntent
      if (event.origin !== new URL(page).origin || !intent || !over(intent)
        || !task.secret.startsWith(intent.id + '_secret')) return
      setDone(true)
      finish(intent)
    }
    addEventListener('message', told)
    return () => removeEventListener('message', told)
  }, [])
  return <>
    <p>{w.sandbox}</p>
    <a class="button primary" href={address} target="_blank" rel="opener">{w.openSandbox}</a>
    {failure ?? <p class="faint" role="status">{done ? w.done : w.waiting}</p>}
  </>
}

type State = 'loading' | 'form' | 'bank' | 'done' | 'failed'

// AtStripe shows Stripe's own form. If the bank asks for confirmation and sends the browser back here, the state of the
// payment shows the result.
function AtStripe({ task, publishableKey }: { task: CardTask; publishableKey: string }) {
  const [state, setState] = useState<State>('loading')
  const [notice, setNotice] = useState('')
  const [finish, failure] = useFinish(task)
  const box = useRef<HTMLDivElement>(null)
  const parts = useRef<{ stripe: Stripe; elements?: Elements } | null>(null)
  const registers = task.purpose === 'register'
  const intentOf = (result: Result) => registers ? result.setupIntent : result.paymentIntent
  const mount = (stripe: Stripe) => {
    const theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'night' : 'stripe'
    const elements = stripe.elements({ clientSecret: task.secret, appearance: { theme } })
    const payment = elements.create('payment')
    payment.on('ready', () => setState('form'))
    payment.on('loaderror', () => setState('failed'))
    payment.mount(box.current!)
    parts.current = { stripe, elements }
  }
  const look = (stripe: Stripe, result: Result) => {
    const intent = intentOf(result)
    parts.current = { stripe }
    if (over(intent)) { setState('done'); finish(intent!) }
    else if (intent?.status === 'requires_action') setState('bank')
    else mount(stripe)
  }
  useEffect(() => {
    loadStripe(publishableKey).then(async stripe => {
      look(stripe, await (registers ? stripe.retrieveSetupIntent(task.secret)
        : stripe.retrievePaymentIntent(task.secret)))
    }).catch(() => setState('failed'))
  }, [])
  const confirm = async () => {
    const { stripe, elements } = parts.current!
    const options = { elements, redirect: 'if_required',
      confirmParams: { return_url: location.origin + location.pathname } }
    const result = await (registers ? stripe.confirmSetup(options) : stripe.confirmPayment(options))
    if (result.error) throw new ApiError(402, result.error.message ?? w.notDone)
    setState('done')
    await finish(intentOf(result)!)
  }
  const atBank = async () => {
    const { stripe } = parts.current!
    const result = await stripe.handleNextAction({ clientSecret: task.secret })
    const intent = intentOf(result)
    if (over(intent)) return await finish(intent!)
    setNotice(result.error?.message ?? w.notDone) // the form accepts another card
    mount(stripe)
    setState('form')
  }
  const amount = task.amount !== null && task.currency ? money(task.amount, task.currency) : ''
  return <>
    {failure}
    {notice && <Notice kind="error">{notice}</Notice>}
    {state === 'loading' && <><p class="hidden" role="status">{w.loadingForm}</p><Skeleton rows={3} /></>}
    {state === 'failed' && <Notice kind="error" onRetry={() => location.reload()}>{w.notLoaded}</Notice>}
    {state === 'done' && !failure && <p role="status">{w.done}</p>}
    {state === 'bank' && <Form submit={w.confirm} action={atBank}><p>{w.bank}</p></Form>}
    <div ref={box} class="stripe-box" />
    {state === 'form' && <Form submit={registers ? w.submitRegister : amount ? w.submitPay(amount) : w.confirm}
      action={confirm}><></></Form>}
  </>
}

// loadStripe loads Stripe.js from Stripe, which requires that.
function loadStripe(key: string): Promise<Stripe> {
  return new Promise((done, failed) => {
    const element = document.createElement('script')
    element.src = script
    element.onload = () => window.Stripe ? done(window.Stripe(key)) : failed(new Error(script))
    element.onerror = failed
    document.head.append(element)
  })
}

render(<CardPage />, document.getElementById('app')!)
