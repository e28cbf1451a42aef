import { useEffect, useId, useMemo, useState } from 'preact/hooks'
import { type Account, type AccountSession, openAccount } from '../../client/account.ts'
import {
  type Client,
  type Credentials,
  eraseEarlierKeyrings,
  keepMasterKey,
  rotateKeys,
  type Vault,
  type VaultDraft,
} from '../../client/index.ts'
import { type App, useApp, useDeviceName } from '../app/context.ts'
import { browserOf } from '../app/device.ts'
import { Answer, useLoaded } from '../app/loaded.tsx'
import { hrefOf } from '../app/route.ts'
import { showPairing } from '../app/second-device.tsx'
import { Button } from '../ui/button.tsx'
import { Confirmation, Dialog } from '../ui/dialogs.tsx'
import { bytes, counted } from '../ui/figures.ts'
import { Form, FormEnd } from '../ui/form.tsx'
import { Progress, type Step } from '../ui/progress.tsx'
import { serviceNow } from '../ui/service-time.ts'
import { tell } from '../ui/tell.ts'
import { Time } from '../ui/time.tsx'
import { CredentialFields, tryCredentials } from '../vault/credentials.tsx'
import { RepairOffer, useRepairOffer } from '../vault/keyrings.tsx'
import { NewPassphraseField } from '../vault/new-passphrase.tsx'
import { RecoveryCode } from '../vault/recovery-code.tsx'
import { judgedHere } from '../vault/strength.ts'
import { showCarefully } from './carefully.tsx'
import { DeleteAccount } from './delete-account.tsx'

/** Where the person is signed in, what they store, and the end of it all. */
export function AccountView({ rest }: { rest: string }) {
  // A change in one part shows in the others: each is asked for again.
  const [turn, setTurn] = useState(0)
  const changed = () => setTurn((turn) => turn + 1)
  useEffect(() => {
    if (rest !== '') document.getElementById(`account-${rest}`)?.scrollIntoView()
  }, [rest])
  return (
    <div class="page panels account">
      <h1>Devices and account</h1>
      <Sessions turn={turn} changed={changed} isAsked={rest === 'others'} />
      <Devices turn={turn} changed={changed} />
      <LostDevice changed={changed} isAsked={rest === 'keys'} />
      <Storage turn={turn} />
      <DeleteAccount isAsked={rest === 'delete'} />
    </div>
  )
}

/** Each part is asked for again at a new turn, and tells of its own changes. */
interface PartProps {
  turn: number
  changed: () => void
}

/** The person comes back from signing in again, to go on with what they had begun. */
interface AskedProps {
  isAsked: boolean
}

/** Where the person is signed in. A session ends at once, wherever it is. */
function Sessions({ turn, changed, isAsked }: PartProps & AskedProps) {
  const account = useAccount()
  const { client } = useApp()
  const sessions = useLoaded(() => account.sessions(), [turn])
  const meaning = 'Every other browser and program has to sign in again. What they have stored stays there.'
  const signOutOthers = () => confirmSignOutOthers(client, account, meaning, changed)
  useEffect(() => {
    if (isAsked) signOutOthers()
  }, [isAsked])
  return (
    <section class="panel" aria-labelledby="sessions-title">
      <h2 id="sessions-title">Where you are signed in</h2>
      <Answer of={sessions}>
        {(sessions) => (
          <>
            <ul class="plain lines">
              {sessions
                .toSorted((one, other) => Number(other.current) - Number(one.current))
                .map((session) => (
                  <Session key={session.id} session={session} changed={changed} />
                ))}
            </ul>
            {sessions.length > 1 && (
              <div class="bar">
                <Button onClick={signOutOthers}>Sign out all others…</Button>
              </div>
            )}
          </>
        )}
      </Answer>
    </section>
  )
}

function Session({ session, changed }: { session: AccountSession; changed: () => void }) {
  const { id, createdAt, lastUsedAt, userAgent, current, sockets } = session
  const account = useAccount()
  const name = browserOf(userAgent) || programOf(userAgent)
  return (
    <li class="line">
      <div class="row-text">
        <span class="line-name">
          {name}
          {current && <span class="badge">This one</span>}
          {!current && sockets > 0 && <span class="badge">Connected</span>}
        </span>
        <span class="hint">
          Signed in <Time at={createdAt} isExact />
        </span>
        {!current && (
          <span class="hint">
            Last used {serviceNow() - lastUsedAt < 2 * 3_600_000 ? 'in the last two hours' : <Time at={lastUsedAt} />}
          </span>
        )}
      </div>
      {!current && (
        <Button
          aria-label={`Sign out ${name}`}
          onClick={async () => {
            await account.endSession(id)
            tell(`${name} is signed out`)
            changed()
          }}
        >
          Sign out
        </Button>
      )}
    </li>
  )
}

function programOf(userAgent: string): string {
  const [name = ''] = userAgent.split(/[\s/]/)
  return name === '' ? 'A browser or program that did not say its name' : `The program ${name}`
}

/** The devices that keep a copy of the bookmarks, the last seen first. */
function Devices({ turn, changed }: PartProps) {
  const app = useApp()
  const account = useAccount()
  const nameOfDevice = useDeviceName()
  const devices = useLoaded(() => account.devices(), [turn])
  const forget = async (id: string) => {
    await account.forgetDevice(id)
    tell(`${nameOfDevice(id)} is off the list. If it syncs again, it is listed again.`)
    changed()
  }
  return (
    <section class="panel" aria-labelledby="devices-title">
      <h2 id="devices-title">Devices</h2>
      <p class="hint">Each keeps a copy of your bookmarks.</p>
      {app.device.keepsKey && (
        <div class="bar">
          <Button onClick={() => showPairing(app)}>Pair a phone…</Button>
        </div>
      )}
      <Answer of={devices}>
        {(devices) => (
          <ul class="plain lines">
            {devices
              .toSorted((one, other) => Number(other.current) - Number(one.current) || other.lastSeen - one.lastSeen)
              .map(({ id, lastSeen, pendingChanges, current }) => (
                <li key={id} class="line" data-device={id}>
                  <div class="row-text">
                    <span class="line-name">
                      {nameOfDevice(id)}
                      {current && <span class="badge">This one</span>}
                    </span>
                    <span class="hint">
                      Last seen <Time at={lastSeen} isExact />
                    </span>
                    <span class="hint">{waitingText(pendingChanges)}</span>
                  </div>
                  {!current && (
                    <Button aria-label={`Forget ${nameOfDevice(id)}`} onClick={() => forget(id)}>
                      Forget
                    </Button>
                  )}
                </li>
              ))}
          </ul>
        )}
      </Answer>
    </section>
  )
}

function waitingText(count: number): string {
  if (count === 0) return 'It has everything'
  return `${counted(count, 'change waits', 'changes wait')} for it`
}

/** How much of each limit is used. */
function Storage({ turn }: { turn: number }) {
  const account = useAccount()
  const info = useLoaded(() => account.account(), [turn])
  return (
    <section class="panel" aria-labelledby="storage-title">
      <h2 id="storage-title">Storage</h2>
      <Answer of={info}>
        {({ usage, limits }) => (
          <>
            <Meter
              label="Bookmarks and their history"
              used={usage.bytes}
              limit={limits.storedBytes}
              format={bytes}
              hint={
                usage.versionBytes > 0 &&
                `${bytes(usage.versionBytes)} of it are earlier versions and deleted bookmarks. The oldest make room when it is needed.`
              }
            />
            <Meter
              label="Bookmarks, deleted ones included"
              used={usage.records}
              limit={limits.storedRecords}
              format={number}
            />
            <Meter label="Backups" used={usage.exportBytes} limit={limits.exportBytes} format={bytes} />
            <Meter label="Devices" used={usage.devices} limit={limits.devices} format={number} />
            <p class="hint">
              {limits.versionDays === 0
                ? 'This service keeps no earlier versions and no deleted bookmarks.'
                : `Earlier versions and deleted bookmarks are kept for ${number(limits.versionDays)} days, at most ${number(limits.versionsOfRecord)} of a bookmark.`}
            </p>
          </>
        )}
      </Answer>
    </section>
  )
}

interface MeterProps {
  label: string
  used: number
  limit: number
  format: (value: number) => string
  hint?: string | false
}

/** From here on the person should know that it is getting full. */
const nearlyFull = 0.9

function Meter({ label, used, limit, format, hint }: MeterProps) {
  const id = useId()
  return (
    <div class="meter">
      <label for={id}>{label}</label>
      <span>
        {format(used)} of {format(limit)}
      </span>
      <meter
        id={id}
        value={used}
        max={limit}
        high={nearlyFull * limit}
        aria-valuetext={`${format(used)} of ${format(limit)}`}
      />
      {used >= nearlyFull * limit && <p class="failure">Nearly full: erase what you do not need.</p>}
      {hint && <p class="hint">{hint}</p>}
    </div>
  )
}

function number(count: number): string {
  return count.toLocaleString()
}

/** Tells what to do first, and then, if a device is lost or stolen. */
function LostDevice({ changed, isAsked }: AskedProps & { changed: () => void }) {
  const app = useApp()
  const account = useAccount()
  const meaning = 'The lost device gets nothing new from now on. Your other devices have to sign in again.'
  const changeKeys = () =>
    showCarefully(app.client, { to: hrefOf('account', 'keys') }, (close) => <ChangeKeys app={app} close={close} />)
  useEffect(() => {
    if (isAsked) changeKeys()
  }, [isAsked])
  return (
    <section class="panel" id="account-lost" aria-labelledby="lost-title">
      <h2 id="lost-title">Lost a device?</h2>
      <ol class="steps">
        <li>
          <p>
            <strong>Sign it out.</strong> Find it above under “Where you are signed in” or, if you are not sure which
            one it is, sign out all others. It gets nothing new from then on.
          </p>
          <Button onClick={() => confirmSignOutOthers(app.client, account, meaning, changed)}>
            Sign out all others…
          </Button>
        </li>
        <li>
          <p>
            <strong>Change the keys.</strong> What you save from then on is encrypted under keys that the lost device
            never had. You choose a passphrase, and get a new recovery code.
          </p>
          <Button onClick={changeKeys}>Change the keys…</Button>
        </li>
      </ol>
    </section>
  )
}

/** The keys of a lost device open nothing that is written from then on. */
function ChangeKeys({ app, close }: { app: App; close: () => void }) {
  const { client, sync, userId, device } = app
  const [draft, setDraft] = useState<VaultDraft>()
  const [vault, setVault] = useState<Vault>()
  const [step, setStep] = useState<Step>()
  const [erases, setErases] = useState(true)
  const { isOffered, note } = useRepairOffer()

  const begin = async (fields: Record<string, string>) => {
    const rotate = (current: Credentials) => rotateKeys(client, current, fields.passphrase ?? '', judgedHere)
    setDraft(await note(tryCredentials(userId, fields, rotate)))
  }
  /** The steps left once the new keys count. After a failure, all of it again. */
  const finish = async ({ keys }: Vault) => {
    if (erases) await eraseEarlierKeyrings(client)
    const what = 'Encrypting under the new keys'
    setStep({ what })
    try {
      await sync.adoptKeys(keys, { onProgress: (done, total) => setStep({ what, done, total }) })
    } finally {
      setStep(undefined)
    }
    close()
    tell('The keys are changed. Your other devices ask for the passphrase once.')
  }
  const confirm = async () => {
    if (!draft) return
    const opened = await draft.confirm()
    if (device.keepsKey) await keepMasterKey(userId, opened.masterKey)
    setVault(opened)
    await finish(opened)
  }

  return (
    <Dialog title={draft && !vault ? 'Print the new recovery code' : 'Change the keys'} close={close}>
      {!draft && (
        <Form onSubmit={begin}>
          <p>
            Your bookmarks are encrypted again, with new keys that the lost device never had. You get a new recovery
            code; the old code stops working.
          </p>
          <CredentialFields owner={app} />
          <NewPassphraseField person={app.person} />
          <label class="bar">
            <input type="checkbox" checked={erases} onChange={() => setErases(!erases)} />
            Erase what earlier passphrases and recovery codes open
          </label>
          {isOffered && <RepairOffer owner={app} />}
          <FormEnd close={close}>Continue</FormEnd>
        </Form>
      )}
      {draft && !vault && (
        <RecoveryCode draft={draft} person={app.person} confirm={confirm}>
          <Button onClick={close}>Cancel</Button>
        </RecoveryCode>
      )}
      {vault && (
        <div class="form" aria-live="polite">
          <p>The new keys count already. If this is interrupted, it goes on when the page is opened again.</p>
          {step ? (
            <Progress {...step} />
          ) : (
            <Button look="primary" onClick={() => finish(vault)}>
              Go on
            </Button>
          )}
        </div>
      )}
    </Dialog>
  )
}

/** @param text what it means to this person */
function confirmSignOutOthers(client: Client, account: Account, text: string, changed: () => void): void {
  const run = async () => {
    await account.signOutOthers()
    tell('Signed out everywhere else')
    changed()
  }
  const question = { title: 'Sign out everywhere else?', text, action: 'Sign out all others', run }
  showCarefully(client, { to: hrefOf('account', 'others') }, (close) => <Confirmation {...question} close={close} />)
}

function useAccount(): Account {
  const app = useApp()
  return useMemo(() => openAccount(app), [app])
}
