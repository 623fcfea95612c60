// Requests about plans, cards and invoices. Amounts are in minor units of their currencies.
import { base, get, send, type Cap } from './api'

export interface Product {
  name: string; price_id: string | null; amount: number; currency: string | null
  additional_unit_cost: number | null; char_limit: number | null; chars_per_unit: number | null
}
export interface Subscription {
  subscription_id: string | null; price_id: string | null; amount: number | null; currency: string | null
  status: string | null; current_period_end: number | null; cancel_at_period_end: boolean
  scheduled_change: {
    price_id: string; plan_name: string | null; amount: number | null; currency: string | null; effective_at: number
  } | null
  pending_change: { price_id: string; plan_name: string | null; expires_at: number } | null
}
export interface Invoice {
  id: string; number: string | null; status: string | null; amount_due: number; amount_paid: number
  amount_refunded: number; dispute: { status: string; amount: number } | null; currency: string; created: number
  hosted_invoice_url: string | null; invoice_pdf: string | null
}
export interface Overview {
  subscription: Subscription
  other_subscriptions: {
    subscription_id: string; amount: number | null; currency: string | null; current_period_end: number
  }[]
  payment_method: { brand: string; last4: string } | null
  invoices: Invoice[]
}
export interface Change {
  kind: 'upgraded' | 'downgrade_scheduled'; effective_at: number
  preview?: { amount_due: number; currency: string; lines: { description: string; amount: number }[] }
}
export interface CardForm { publishable_key: string | null; page: string | null }

async function post<T>(path: string, body: object = {}): Promise<T> {
  return await (await send('POST', 'payments/' + path, body)).json()
}

export const billing = {
  overview: () => get<Overview>('payments/billing'),
  products: () => get<Product[]>('payments/products'),
  cap: () => get<Cap>('payments/spending-cap'),
  cardForm: () => get<CardForm>('payments/card-form'),
  setCap: (amount: number | null) => send('PUT', 'payments/spending-cap', { amount }),
  subscribe: (price: string) =>
    post<{ client_secret: string; amount: number; currency: string }>('subscribe', { price_id: price }),
  preview: (price: string) => post<Change>('change-plan?preview=true', { price_id: price }),
  change: (price: string) => post<Change>('change-plan', { price_id: price }),
  keepPlan: () => post('cancel-scheduled-change'),
  cancel: () => post('cancel'),
  resume: () => post('uncancel'),
  newCard: () => post<{ client_secret: string }>('setup-intent'),
  useCard: (method: string) => post('payment-method/replace', { payment_method_id: method }),
}

// CardTask is the task of the page of cards. It is passed in the tab's storage and not in the address, because a link
// must not make a person pay for another.
export interface CardTask {
  purpose: 'pay' | 'register'; secret: string; title: string; amount: number | null; currency: string | null
}

const taskKey = 'card-task', doneKey = 'card-done'

export function enterCard(task: CardTask) {
  sessionStorage.setItem(taskKey, JSON.stringify(task))
  location.assign(new URL('console/card', base))
}

export function cardTask(): CardTask | null {
  return JSON.parse(sessionStorage.getItem(taskKey) ?? 'null') as CardTask | null
}

// leaveCard returns to the view of billing, with the result of the task.
export function leaveCard(done?: CardTask['purpose']) {
  sessionStorage.removeItem(taskKey)
  if (done) sessionStorage.setItem(doneKey, done)
  location.replace(new URL('console#/billing', base))
}

// takeDone returns the result of the page of cards once.
export function takeDone(): CardTask['purpose'] | null {
  const done = sessionStorage.getItem(doneKey)
  sessionStorage.removeItem(doneKey)
  return done as CardTask['purpose'] | null
}
