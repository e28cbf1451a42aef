import { useEffect, useState } from 'preact/hooks'
import {
  type Client,
  createVault,
  hasVault,
  loadMasterKey,
  openVault,
  type Vault,
  type VaultDraft,
  VaultExistsError,
} from '../../client/index.ts'
import { confirmDeletion, isDeletionAsked } from '../account/delete-account.tsx'
import { takeCode } from '../pairing/code.ts'
import { closeDevice, type Device } from '../session/device.ts'
import { lockedSync, signOutLocked, storedUsers } from '../session/session.ts'
import { StoredBookmarks } from '../session/stored.tsx'
import { Button } from '../ui/button.tsx'
import { messageOf, tellFailure } from '../ui/failure.ts'
import { Form, Submit } from '../ui/form.tsx'
import { lazily } from '../ui/lazily.tsx'
import { Waiting } from '../ui/waiting.tsx'
import { AccountName, CredentialFields, tryCredentials, type VaultOwner } from '../vault/credentials.tsx'
import { keyringsAddress, repairAddress, showEarlierKeyrings, showRepair } from '../vault/keyrings.tsx'
import { NewPassphraseField } from '../vault/new-passphrase.tsx'
import { RecoveryCode } from '../vault/recovery-code.tsx'
import { judgedHere } from '../vault/strength.ts'
import { later } from '../words/later.ts'
import { say } from '../words/words.ts'
import { Front } from './sign-in.tsx'

const Take = lazily(() => import('../pairing/take.tsx').then(({ Take }) => Take))

interface DoorProps {
  owner: VaultOwner
  device: Device
  /** Resolves when the bookmarks are shown. Until then, the form cannot be sent again. */
  opened: (vault: Vault) => Promise<unknown>
}

/** Opens the vault with a passphrase, a recovery code, or a pairing. On the first device, creates the vault. */
export function VaultDoor({ owner, device, opened }: DoorProps) {
  const [attempt, setAttempt] = useState(() => takeCode(owner.userId))
  const [exists, setExists] = useState<boolean>()
  const [failure, setFailure] = useState<string>()
  const look = () => {
    setFailure(undefined)
    hasVault(owner.client, owner).then(setExists, (error: unknown) => setFailure(messageOf(error)))
  }
  useEffect(look, [])
  useEffect(() => {
    if (failure === undefined) return
    addEventListener('online', look)
    return () => removeEventListener('online', look)
  }, [failure])
  const open = async (fields: Record<string, string>) => {
    await opened(await tryCredentials(owner.userId, fields, (credentials) => openVault(owner.client, credentials)))
  }
  const existsAlready = (error: VaultExistsError) => {
    tellFailure(error)
    setExists(true)
  }
  if (attempt) {
    return (
      <Front>
        <Take {...attempt} owner={owner} opened={opened} leave={() => setAttempt(undefined)} />
        <SignedInAs {...owner} device={device} />
      </Front>
    )
  }
  return (
    <Front>
      {failure !== undefined && (
        <p role="alert">
          {failure} <Button onClick={look}>{say.ui.tryAgain}</Button>
        </p>
      )}
      {exists === undefined && failure === undefined && <Waiting again={look} />}
      {exists === true && (
        <Form onSubmit={open}>
          <h1>{later.vault.openTitle}</h1>
          <CredentialFields owner={owner} />
          <Submit>{later.vault.open}</Submit>
        </Form>
      )}
      {exists === false && (
        <CreateVault
          owner={owner}
          created={opened}
          failed={(error) => {
            if (!(error instanceof VaultExistsError)) throw error
            existsAlready(error)
          }}
        />
      )}
      <SignedInAs {...owner} device={device} />
      {exists === true && <OpenedBefore owner={owner} />}
      {exists === true && device.keepsKey && <LostBoth owner={owner} device={device} />}
      {device.keepsKey && <StoredBookmarks signedIn={owner.userId} />}
    </Front>
  )
}

interface CreateVaultProps {
  owner: VaultOwner
  /** Resolves when the bookmarks are shown. Until then, the form cannot be sent again. */
  created: (vault: Vault) => Promise<unknown>
  /** Throws errors that it does not handle. */
  failed: (error: unknown) => void
}

/** Creates the vault on the person's first device. The service gets it when the person confirms the recovery code. */
function CreateVault({ owner, created, failed }: CreateVaultProps) {
  const [draft, setDraft] = useState<VaultDraft>()
  const create = async ({ passphrase = '' }: Record<string, string>) => {
    setDraft(await createVault(owner.client, { userId: owner.userId, passphrase, ...judgedHere }))
  }
  if (draft) {
    return (
      <>
        <h1>{later.vault.printCode}</h1>
        <RecoveryCode draft={draft} person={owner.person} confirmed={created} failed={failed} />
      </>
    )
  }
  return (
    <Form onSubmit={(fields) => create(fields).catch(failed)}>
      <h1>{later.vault.choosePassphrase}</h1>
      <p>{later.vault.encryptsFirst}</p>
      <AccountName owner={owner} />
      <NewPassphraseField person={owner.person} autofocus />
      <Submit>{later.vault.create}</Submit>
    </Form>
  )
}

interface SignedInAsProps {
  client: Client
  device: Device
  userId: string
  person: string
}

/** Lets a person with the wrong account, or without the passphrase, sign out. */
function SignedInAs({ client, device, userId, person }: SignedInAsProps) {
  const [isStored, setStored] = useState(false)
  useEffect(() => {
    // Rejects if the browser does not let the page store anything.
    storedUsers().then(
      (users) => setStored(device.keepsKey && users.includes(userId)),
      () => {},
    )
  }, [])
  return (
    <>
      <p class="bar signed-in-as">
        <span>{later.vault.signedInAs(person)}</span>
        {device.keepsKey ? (
          <Button onClick={() => signOutLocked(client, device, userId)}>{say.app.signOut}</Button>
        ) : (
          <Button onClick={closeDevice}>{say.app.closeDevice}</Button>
        )}
      </p>
      {isStored && <p class="hint">{later.vault.storedWhileLocked}</p>}
    </>
  )
}

/** For a person whose passphrase opened the vault until the keyring was replaced. */
function OpenedBefore({ owner }: { owner: VaultOwner }) {
  const [hasKeys, setHasKeys] = useState(false)
  useEffect(() => {
    if (location.hash === keyringsAddress) showEarlierKeyrings(owner)
    if (location.hash === repairAddress) showRepair(owner)
    // If this rejects, the browser has no keys.
    loadMasterKey(owner.userId).then(
      (key) => setHasKeys(key !== undefined),
      () => {},
    )
  }, [])
  return (
    <details class="lost-both">
      <summary>{later.vault.openedBefore}</summary>
      <p>{later.vault.openedBeforeMore}</p>
      <Button onClick={() => showEarlierKeyrings(owner)}>{later.vault.showEarlierPassphrases}</Button>
      {hasKeys && (
        <>
          <p>{later.vault.hasKeysStill}</p>
          <Button onClick={() => showRepair(owner)}>{later.vault.repair}</Button>
        </>
      )}
    </details>
  )
}

/** For a person who has lost the passphrase and the recovery code: they must start over. */
function LostBoth({ owner: { client, userId }, device }: { owner: VaultOwner; device: Device }) {
  const ask = () =>
    confirmDeletion({ client, userId, sync: lockedSync(client, device, userId) }, later.account.savedFilesLocked)
  useEffect(() => {
    if (isDeletionAsked()) ask()
  }, [])
  return (
    <details class="lost-both">
      <summary>{later.vault.lostBoth}</summary>
      <p>{later.vault.lostBothMore}</p>
      <Button look="danger" onClick={ask}>
        {later.account.deleteButton}
      </Button>
    </details>
  )
}
