import { useEffect, useId, useState } from 'preact/hooks'
import type { Account, AccountSession } from '../../client/account.ts'
import {
  type Client,
  type Credentials,
  eraseEarlierKeyrings,
  keepMasterKey,
  rotateKeys,
  type Vault,
  type VaultDraft,
} from '../../client/index.ts'
import { type App, useApp } from '../session/context.ts'
import { browserOf } from '../session/device.ts'
import { Answer, useLoaded } from '../session/loaded.tsx'
import { hrefOf } from '../session/route.ts'
import { withRecentSignIn } from '../session/with-recent-sign-in.tsx'
import { Button } from '../ui/button.tsx'
import { Confirmation, Dialog } from '../ui/dialogs.tsx'
import { Form, FormEnd } from '../ui/form.tsx'
import { useLeaving } from '../ui/leaving.ts'
import { serviceNow } from '../ui/service-time.ts'
import { tell } from '../ui/tell.ts'
import { Time } from '../ui/time.tsx'
import { Progress, type Step } from '../ui/waiting.tsx'
import { CredentialFields, tryCredentials } from '../vault/credentials.tsx'
import { RepairOffer, useRepairOffer } from '../vault/keyrings.tsx'
import { NewPassphraseField } from '../vault/new-passphrase.tsx'
import { RecoveryCode } from '../vault/recovery-code.tsx'
import { judgedHere } from '../vault/strength.ts'
import { bytes, number } from '../words/language.ts'
import { later } from '../words/later.ts'
import { fill, say } from '../words/words.ts'
import { DeleteAccount } from './delete-account.tsx'
import { Devices, useAccount } from './devices.tsx'

/** Shows where the person is signed in and how much they store. Can sign out elsewhere, and delete the account. */
export function AccountView({ rest }: { rest: string }) {
  // A change in one part affects the others, so all of them are loaded again.
  const [reloads, setReloads] = useState(0)
  const changed = () => setReloads((reloads) => reloads + 1)
  useEffect(() => {
    if (rest !== '') document.getElementById(`account-${rest}`)?.scrollIntoView()
  }, [rest])
  return (
    <div class="page panels account">
      <h1>{say.app.views.account}</h1>
      <Sessions reloads={reloads} changed={changed} isAsked={rest === 'others'} />
      <Devices reloads={reloads} changed={changed} />
      <LostDevice changed={changed} asked={rest} />
      <Storage reloads={reloads} />
      <DeleteAccount isAsked={rest === 'delete'} />
    </div>
  )
}

/** A part loads its data again when `reloads` rises, and calls `changed` after it has changed something. */
interface PartProps {
  reloads: number
  changed: () => void
}

/** `isAsked`: true if the address asks for an action of this part, as after the sign-in that the action required. */
interface AskedProps {
  isAsked: boolean
}

/** Shows where the person is signed in, and can sign out there: the service then refuses that session. */
function Sessions({ reloads, changed, isAsked }: PartProps & AskedProps) {
  const account = useAccount()
  const { client } = useApp()
  const sessions = useLoaded(() => account.sessions(), [reloads])
  const signOutOthers = () => confirmSignOutOthers(client, account, 'others', changed)
  useEffect(() => {
    if (isAsked) signOutOthers()
  }, [isAsked])
  return (
    <section class="panel" aria-labelledby="sessions-title">
      <h2 id="sessions-title">{later.account.signedIn}</h2>
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
                <Button onClick={signOutOthers}>{later.account.signOutOthers}</Button>
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
          {current && <span class="badge">{later.account.thisOne}</span>}
          {!current && sockets > 0 && <span class="badge">{later.account.connected}</span>}
        </span>
        <span class="hint">{fill(later.account.signedInAt, { time: <Time at={createdAt} isExact /> })}</span>
        {!current && (
          <span class="hint">
            {serviceNow() - lastUsedAt < 2 * 3_600_000
              ? later.account.lastUsedNow
              : fill(later.account.lastUsed, { time: <Time at={lastUsedAt} /> })}
          </span>
        )}
      </div>
      {!current && (
        <Button
          aria-label={later.account.signOutOf(name)}
          onClick={async () => {
            await account.endSession(id)
            tell(later.account.isSignedOut(name))
            changed()
          }}
        >
          {say.app.signOut}
        </Button>
      )}
    </li>
  )
}

function programOf(userAgent: string): string {
  const [name = ''] = userAgent.split(/[\s/]/)
  return name === '' ? later.account.namelessProgram : later.account.program(name)
}

/** How much of each limit is used. */
function Storage({ reloads }: { reloads: number }) {
  const account = useAccount()
  const info = useLoaded(() => account.account(), [reloads])
  return (
    <section class="panel" aria-labelledby="storage-title">
      <h2 id="storage-title">{later.account.storage}</h2>
      <Answer of={info}>
        {({ usage, limits }) => (
          <>
            <Meter
              label={later.account.storedBytes}
              used={usage.bytes}
              limit={limits.storedBytes}
              format={bytes}
              hint={usage.versionBytes > 0 && later.account.versionBytes(usage.versionBytes)}
            />
            <Meter
              label={later.account.storedRecords}
              used={usage.records}
              limit={limits.storedRecords}
              format={number}
            />
            <Meter label={later.settings.backups} used={usage.exportBytes} limit={limits.exportBytes} format={bytes} />
            <Meter label={say.app.devices} used={usage.devices} limit={limits.devices} format={number} />
            <p class="hint">{later.account.keepsFor(limits.versionDays, limits.versionsOfRecord)}</p>
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

/** The share of a limit from which the person is warned. */
const nearlyFull = 0.9

function Meter({ label, used, limit, format, hint }: MeterProps) {
  const id = useId()
  const text = say.ui.usedOf(format(used), format(limit))
  return (
    <div class="meter">
      <label for={id}>{label}</label>
      <span>{text}</span>
      <meter id={id} value={used} max={limit} high={nearlyFull * limit} aria-valuetext={text} />
      {used >= nearlyFull * limit && <p class="failure">{later.account.nearlyFull}</p>}
      {hint && <p class="hint">{hint}</p>}
    </div>
  )
}

function LostDevice({ changed, asked }: { changed: () => void; asked: string }) {
  const app = useApp()
  const account = useAccount()
  const changeKeys = () =>
    withRecentSignIn(app.client, { to: hrefOf('account', 'keys') }, (close) => <ChangeKeys app={app} close={close} />)
  const signOutOthers = () => confirmSignOutOthers(app.client, account, 'lost-others', changed)
  useEffect(() => {
    if (asked === 'keys') changeKeys()
    if (asked === 'lost-others') signOutOthers()
  }, [asked])
  return (
    <section class="panel" id="account-lost" aria-labelledby="lost-title">
      <h2 id="lost-title">{later.account.lost}</h2>
      <ol class="steps">
        <li>
          <p>{fill(later.account.lostSignOut)}</p>
          <Button onClick={signOutOthers}>{later.account.signOutOthers}</Button>
        </li>
        <li>
          <p>{fill(later.account.lostKeys)}</p>
          <Button onClick={changeKeys}>{later.account.changeKeysButton}</Button>
        </li>
      </ol>
    </section>
  )
}

/** Replaces the keys. The keys of a lost device then open nothing that is written later. */
function ChangeKeys({ app, close }: { app: App; close: () => void }) {
  const { client, sync, userId, device } = app
  const [draft, setDraft] = useState<VaultDraft>()
  const [vault, setVault] = useState<Vault>()
  const [step, setStep] = useState<Step>()
  const [erases, setErases] = useState(true)
  const { isOffered, note } = useRepairOffer()
  useLeaving(() => {
    if (vault) tell(later.account.newKeysCount)
  })

  const begin = async (fields: Record<string, string>) => {
    const rotate = (current: Credentials) => rotateKeys(client, current, fields.passphrase ?? '', judgedHere)
    setDraft(await note(tryCredentials(userId, fields, rotate)))
  }
  /** The steps after the service has stored the new keys. If one fails, “Continue” runs all of them again. */
  const finish = async ({ keys }: Vault) => {
    if (erases) await eraseEarlierKeyrings(client, { userId })
    const what = later.account.reencrypting
    setStep({ what })
    try {
      await sync.adoptKeys(keys, { onProgress: (done, total) => setStep({ what, done, total }) })
    } finally {
      setStep(undefined)
    }
    close()
    tell(later.account.keysChanged)
  }
  const confirmed = async (opened: Vault) => {
    if (device.keepsKey) await keepMasterKey(userId, opened.masterKey)
    setVault(opened)
    await finish(opened)
  }

  return (
    <Dialog title={draft && !vault ? later.account.printNewCode : later.account.changeKeys} close={close}>
      {!draft && (
        <Form onSubmit={begin}>
          <p>{later.account.changeKeysMore}</p>
          <CredentialFields owner={app} />
          <NewPassphraseField person={app.person} />
          <label class="bar">
            <input type="checkbox" checked={erases} onChange={() => setErases(!erases)} />
            {later.account.eraseEarlier}
          </label>
          {isOffered && <RepairOffer owner={app} />}
          <FormEnd close={close}>{say.ui.continue}</FormEnd>
        </Form>
      )}
      {draft && !vault && <RecoveryCode draft={draft} person={app.person} confirmed={confirmed} cancel={close} />}
      {vault && (
        <div class="form" aria-live="polite">
          <p>{later.account.newKeysCount}</p>
          {step ? (
            <Progress {...step} />
          ) : (
            <Button look="primary" onClick={() => finish(vault)}>
              {say.ui.continue}
            </Button>
          )}
        </div>
      )}
    </Dialog>
  )
}

/** @param rest the address of the question, whose text differs if a device was lost */
function confirmSignOutOthers(
  client: Client,
  account: Account,
  rest: 'others' | 'lost-others',
  changed: () => void,
): void {
  const run = async () => {
    await account.signOutOthers()
    tell(later.account.othersSignedOut)
    changed()
  }
  const text = rest === 'others' ? later.account.othersMeaning : later.account.lostMeaning
  const question = { title: later.account.othersQuestion, text, action: later.account.othersAction, run }
  withRecentSignIn(client, { to: hrefOf('account', rest) }, (close) => <Confirmation {...question} close={close} />)
}
