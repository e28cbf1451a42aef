import { render } from 'preact'
import { createClient } from '../client/index.ts'
import { askOnce } from './app/ask-once.ts'
import { thisDevice } from './app/device.ts'
import { lockWithOtherTabs } from './app/lock.ts'
import { send } from './app/network.ts'
import { Root } from './app/root.tsx'
import { keepForOffline } from './offline/register.ts'

const device = thisDevice()
const client = createClient({ baseUrl: location.origin, deviceId: device.id, fetch: askOnce(send) })
const page = document.querySelector('#page') as HTMLElement
page.replaceChildren()
render(<Root client={client} device={device} />, page)
keepForOffline()
lockWithOtherTabs()
