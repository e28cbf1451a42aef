import { render } from 'preact'
import { createClient } from '../client/index.ts'
import { Root, StartFailure } from './app/root.tsx'
import { keepForOffline } from './offline/register.ts'
import { keepScanned } from './pairing/code.ts'
import { seen } from './seen/requests.ts'
import { thisDevice } from './session/device.ts'
import { watchEntries } from './session/entries.ts'
import { send } from './session/network.ts'
import { comeBack, lockWithOtherTabs } from './session/session.ts'
import { watchPresses } from './ui/press.ts'
import { language } from './words/language.ts'

const page = document.querySelector('#page') as HTMLElement
page.replaceChildren()
try {
  start()
} catch (error) {
  render(<StartFailure error={error} again={() => location.reload()} />, page)
}

/** @throws DOMException if the browser does not let this site store anything */
function start(): void {
  document.documentElement.lang = language
  const device = thisDevice()
  const client = createClient({ baseUrl: location.origin, deviceId: device.id, fetch: seen(send) })
  watchPresses()
  keepScanned()
  comeBack()
  watchEntries()
  addEventListener('hashchange', () => keepScanned() && location.reload())
  render(<Root client={client} device={device} />, page)
  keepForOffline()
  lockWithOtherTabs()
}
