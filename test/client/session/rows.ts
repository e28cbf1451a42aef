/** A call of each function of the package that needs a session. */
import { type Account, openAccount } from '../../../src/client/account.ts'
import { createHistory, type History } from '../../../src/client/history.ts'
import {
  type Client,
  changeVaultPassphrase,
  createBackup,
  createSync,
  createVault,
  deriveKeys,
  downloadBackup,
  earlierKeyrings,
  eraseEarlierKeyrings,
  hasVault,
  openVault,
  repairVault,
  replaceRecoveryCode,
  restoreKeyring,
  rotateKeys,
  type Sync,
  unwrap,
  type Vault,
} from '../../../src/client/index.ts'
import { cancelPairing, offerPairing, takePairing } from '../../../src/client/pair.ts'
import { createSync as createWorkerSync } from '../../../src/client/worker.ts'
import { until } from '../../support/until.ts'

/** Ann and her browser, in which another user may sign in. */
export interface Ann {
  client: Client
  userId: string
  vault: Vault
  recoveryCode: string
  /** The id of Ann's earlier keyring. */
  earlier: string
  /** Opens a device of Ann with an unsent edit. */
  openSync(create?: typeof createSync): Promise<Sync>
}

/** Calls a function so that it makes most requests that it can make. */
export type Row = (ann: Ann) => Promise<unknown>

const passphrase = 'tinsel walrus oboe fjord gravel'
const by = ({ userId, recoveryCode }: Ann) => ({ userId, recoveryCode })
const owner = ({ userId, vault: { keys } }: Ann) => ({ userId, keys })

/** Functions that reach the service only through a sync, whose methods that do so have rows. */
export const throughSync = ['SyncProvider', 'useSelection', 'undoable', 'createBrowserSync']
/** Methods that only read or change data on this device. */
type Local =
  | 'deviceId'
  | 'stop'
  | 'get'
  | 'bookmarks'
  | 'groups'
  | 'history'
  | 'tree'
  | 'contents'
  | 'status'
  | 'isWaiting'
  | 'conflicts'
  | 'select'
  | 'search'
  | 'seen'
  | 'put'
  | 'update'
  | 'remove'
  | 'move'
  | 'importBookmarks'
  | 'restoreExport'
  | 'resolve'
  | 'heldDeletions'
  | 'approveDeletions'
  | 'rejectDeletions'
  | 'quarantined'
  | 'retryQuarantined'
  | 'dropQuarantined'
  | 'explain'
  | 'on'

/** By function and method: a function that returns an object has a row for each of its methods that reach the service. */
export const rows: Record<string, Record<string, Row>> = {
  hasVault: { '': ({ client, userId }) => hasVault(client, { userId }) },
  openVault: { '': (ann) => openVault(ann.client, by(ann)) },
  changeVaultPassphrase: { '': (ann) => changeVaultPassphrase(ann.client, by(ann), passphrase) },
  replaceRecoveryCode: { confirm: async (ann) => (await replaceRecoveryCode(ann.client, by(ann))).confirm() },
  // Must come before the rotation, after which these keys are not the newest.
  repairVault: {
    confirm: async ({ client, userId, vault: { masterKey } }) =>
      (await repairVault(client, { userId, passphrase, masterKey })).confirm(),
  },
  rotateKeys: { confirm: async (ann) => (await rotateKeys(ann.client, by(ann), passphrase)).confirm() },
  earlierKeyrings: { '': ({ client, userId }) => earlierKeyrings(client, { userId }) },
  restoreKeyring: { '': ({ client, userId, earlier: id }) => restoreKeyring(client, { userId, id }) },
  eraseEarlierKeyrings: { '': ({ client, userId }) => eraseEarlierKeyrings(client, { userId }) },
  createBackup: { '': (ann) => createBackup(ann.client, owner(ann)) },
  downloadBackup: { '': async (ann) => downloadBackup(ann.client, await madeExport(ann), owner(ann)) },
  createSync: {
    ...ofEach<Sync, Exclude<keyof Sync, Local>>((ann) => ann.openSync(createSync), {
      start: untilStill,
      syncNow: (sync) => sync.syncNow(),
      adoptKeys: async (sync, { vault }) => sync.adoptKeys(deriveKeys(vault.masterKey)),
      signOut: (sync) => sync.signOut({ discardUnsent: true }),
    }),
    inWorker: async (ann) => (await ann.openSync(createWorkerSync)).syncNow(),
  },
  createHistory: ofEach<History>(
    async (ann) => createHistory({ ...ann, keys: deriveKeys(ann.vault.masterKey), sync: await ann.openSync() }),
    {
      history: (history) => history.history('one'),
      restoreVersion: (history) => history.restoreVersion('gone'),
      trash: (history) => history.trash(),
      purge: (history) => history.purge('gone'),
      rewind: (history) => history.rewind({ to: Date.now() - 1, dryRun: false }),
      serverConflicts: (history) => history.serverConflicts(),
      settleConflict: (history) => history.settleConflict('none').catch(unlessNotFound),
    },
  ),
  openAccount: ofEach<Account>(async (ann) => openAccount({ ...ann, sync: await ann.openSync() }), {
    account: (account) => account.account(),
    devices: (account) => account.devices(),
    renameDevice: (account) => account.renameDevice('phone', '').catch(unlessNotFound),
    forgetDevice: (account) => account.forgetDevice('phone'),
    sessions: (account) => account.sessions(),
    endSession: (account) => account.endSession('none').catch(unlessNotFound),
    signOutOthers: (account) => account.signOutOthers(),
    deleteAccount: (account) => account.deleteAccount(),
  }),
  cancelPairing: { '': ({ client, userId }) => cancelPairing({ client, userId, code: 'A'.repeat(43) }) },
  offerPairing: { admit: pair, admitted: pair },
  takePairing: { compare: pair },
  // Must be last, because it needs an account without a vault.
  createVault: { confirm: async ({ client, userId }) => (await createVault(client, { userId, passphrase })).confirm() },
}

/** Makes a row for each method. A method without a row does not compile. */
function ofEach<Opened, Reaching extends keyof Opened = keyof Opened>(
  open: (ann: Ann) => Promise<Opened>,
  methods: { [Method in Reaching]: (opened: Opened, ann: Ann) => Promise<unknown> },
): Record<string, Row> {
  const calls = Object.entries(methods) as [string, (opened: Opened, ann: Ann) => Promise<unknown>][]
  return Object.fromEntries(calls.map(([name, call]) => [name, async (ann: Ann) => call(await open(ann), ann)]))
}

function unlessNotFound(error: { status?: number }): void {
  if (error.status !== 404) throw error
}

/** Starts the sync, waits until it is idle, and stops it. @throws the first error that it has emitted */
async function untilStill(sync: Pick<Sync, 'start' | 'stop' | 'status' | 'on'>): Promise<void> {
  const errors: Error[] = []
  sync.on('error', ({ error }) => errors.push(error))
  await sync.start()
  await until(() => ['polling', 'online', 'signed-out'].includes(sync.status().state))
  await sync.stop()
  if (errors[0]) throw errors[0]
}

/** The id of an export on the service. Uses the one of an earlier call if it is still there. */
async function madeExport({ client, userId }: Ann): Promise<string> {
  const own = client.as(userId)
  const list = async () => unwrap(await own.GET('/api/v1/exports')).exports
  if ((await list()).length === 0) unwrap(await own.POST('/api/v1/exports'))
  await until(async () => (await list()).every(({ status }) => status === 'completed'))
  return (await list())[0]?.id ?? ''
}

/** Pairs two devices in the same browser, so that another user's sign-in affects both. */
async function pair({ client, userId, vault }: Ann): Promise<void> {
  const over = new AbortController()
  const device = { client, userId, signal: over.signal }
  const { code, guest } = await offerPairing(device)
  const phone = takePairing({ ...device, code, name: 'phone', compare: async () => {} })
  const admitted = guest().then((phone) => phone.admit(vault.masterKey))
  await Promise.all([phone, admitted]).finally(() => over.abort())
}
