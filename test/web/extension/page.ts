import { createClient, createVault, hasVault, keepMasterKey, openVault, unwrap } from '../../../src/client/index.ts'
import type { ExtensionPlatform } from './platform.ts'
import { baseUrl, deviceId } from './service.ts'

declare const chrome: ExtensionPlatform

const client = createClient({ baseUrl, deviceId })
const [signIn, form] = [document.querySelector('button'), document.querySelector('form')]
const passphrase = document.querySelector('input')
if (!signIn || !form || !passphrase) throw new Error('page.html lacks something')

const session = await client.GET('/api/v1/auth/session')
if (session.response.status === 401) signIn.hidden = false
else form.hidden = false

signIn.addEventListener('click', async () => {
  const login = unwrap(await client.POST('/api/v1/auth/login', { body: { returnTo: location.href } }))
  location.assign(login.authorizationUrl)
})

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const { user_id: userId } = unwrap(session).user
  const owner = { userId, passphrase: passphrase.value }
  const vault = (await hasVault(client))
    ? await openVault(client, owner)
    : await (await createVault(client, owner)).confirm()
  await keepMasterKey(userId, vault.masterKey)
  await chrome.runtime.sendMessage({ ask: 'start' })
  form.hidden = true
  document.querySelector('[role=status]')?.append('In step')
})
