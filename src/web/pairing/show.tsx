import type { App } from '../session/context.ts'
import { showDialog } from '../ui/dialogs.tsx'
import { lazily } from '../ui/lazily.tsx'

const Offer = lazily(() => import('./offer.tsx').then(({ Offer }) => Offer))

/** Shows a code for a phone to scan. */
export function showPairing(app: App): void {
  showDialog((close) => <Offer app={app} close={close} />)
}
