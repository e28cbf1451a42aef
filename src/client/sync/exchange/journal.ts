import type { Clock } from '../../timing/clock.ts'

/** An exchange with the service that this tab has had. */
export interface ExchangeNote {
  /** When it began (Unix ms, by this device's clock), and how long it took. */
  at: number
  ms: number
  /** `exchange`: pull and push; `live`: changes over the realtime channel, and the edits sent meanwhile */
  kind: 'exchange' | 'live'
  /** `done`, or the name of the error, with the HTTP status if there was a response. */
  outcome: string
}

const mostNotes = 20

/** Runs an exchange and notes how it ended. */
export async function noted(
  { notes, clock }: { notes: ExchangeNote[]; clock: Clock },
  kind: ExchangeNote['kind'],
  run: () => Promise<void>,
): Promise<void> {
  const at = clock.now()
  let outcome = 'done'
  try {
    await run()
  } catch (error) {
    const { name, status } = error as { name?: string; status?: number }
    outcome = [name ?? 'Error', status ?? []].flat().join(' ')
    throw error
  } finally {
    notes.push({ at, ms: clock.now() - at, kind, outcome })
    notes.splice(0, notes.length - mostNotes)
  }
}
