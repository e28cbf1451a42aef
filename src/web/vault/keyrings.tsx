import { useEffect, useState } from 'preact/hooks'
import {
  type EarlierKeyring,
  earlierKeyrings,
  eraseEarlierKeyrings,
  KeyringError,
  keepMasterKey,
  loadMasterKey,
  repairVault,
  restoreKeyring,
  type Vault,
  type VaultDraft,
} from '../../client/index.ts'
import { hrefOf } from '../session/route.ts'
import { areKeysReplaced, noteReplacedKeys } from '../session/session.ts'
import { withRecentSignIn } from '../session/with-recent-sign-in.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialogs.tsx'
import { messageOf, UserFacingError } from '../ui/failure.ts'
import { FieldFault, Form, FormEnd } from '../ui/form.tsx'
import { hasLeft } from '../ui/leaving.ts'
import { tell } from '../ui/tell.ts'
import { Time } from '../ui/time.tsx'
import { Waiting } from '../ui/waiting.tsx'
import { later } from '../words/later.ts'
import { fill, say } from '../words/words.ts'
import { AccountName, type VaultOwner } from './credentials.tsx'
import { NewPassphraseField } from './new-passphrase.tsx'
import { RecoveryCode } from './recovery-code.tsx'
import { judgedHere } from './strength.ts'

interface OwnerProps {
  owner: VaultOwner
  close: () => void
}

/** Lists earlier keyrings, each with the passphrase and recovery code of its time. Restores one of them, or erases all. */
export function showEarlierKeyrings(owner: VaultOwner): void {
  withRecentSignIn(owner.client, { to: keyringsAddress }, (close) => <EarlierKeyrings owner={owner} close={close} />)
}

/** The address that leads back to the list after a sign-in. */
export const keyringsAddress = hrefOf('security', 'keyrings')

function EarlierKeyrings({ owner: { client, userId }, close }: OwnerProps) {
  const [keyrings, setKeyrings] = useState<EarlierKeyring[]>()
  const [failure, setFailure] = useState<string>()
  const load = () =>
    earlierKeyrings(client, { userId }).then(setKeyrings, (error: unknown) => setFailure(messageOf(error)))
  useEffect(() => void load(), [])
  const restore = async (id: string) => {
    await restoreKeyring(client, { userId, id })
    tell(later.vault.passphraseRestored)
    close()
  }
  const erase = async () => {
    await eraseEarlierKeyrings(client, { userId })
    tell(later.vault.passphrasesErased)
    close()
  }
  return (
    <Dialog title={later.vault.earlierPassphrases} close={close}>
      <div class="form">
        <p>{later.vault.earlierPassphrasesMore}</p>
        {failure !== undefined && <p role="alert">{failure}</p>}
        {!keyrings && failure === undefined && <Waiting again={load} />}
        {keyrings?.length === 0 && <p role="status">{later.vault.noEarlierPassphrases}</p>}
        <ul class="plain lines">
          {keyrings?.map(({ id, revision, keyId, replacedAt, erasedAt }, index) => (
            <li key={id} class="line">
              <div class="row-text">
                <span class="line-name">{later.vault.passphraseVersion(revision)}</span>
                <span class="hint">
                  {fill(later.vault.replacedTimes, {
                    replaced: <Time at={replacedAt} isExact />,
                    erased: <Time at={erasedAt} />,
                  })}
                  {hasOtherKeys(keyId, keyrings.slice(0, index)) && later.vault.opensLess}
                </span>
              </div>
              <Button aria-label={later.vault.restorePassphrase(revision)} onClick={() => restore(id)}>
                {later.history.restore}
              </Button>
            </li>
          ))}
        </ul>
        <div class="bar end">
          {keyrings && keyrings.length > 0 && (
            <Button look="danger" onClick={erase}>
              {later.vault.eraseAll}
            </Button>
          )}
          <Button onClick={close}>{say.ui.close}</Button>
        </div>
      </div>
    </Dialog>
  )
}

/** True if a later keyring names another key, so the keys were replaced after this one. */
function hasOtherKeys(keyId: string | undefined, later: EarlierKeyring[]): boolean {
  return later.some((one) => one.keyId !== undefined && one.keyId !== keyId)
}

/** Offers a repair if work that is passed to `note` fails because the keyring does not open. */
export function useRepairOffer() {
  const [isOffered, setOffered] = useState(false)
  const note = async <T,>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      if (error instanceof FieldFault || error instanceof KeyringError) setOffered(true)
      throw error
    }
  }
  return { isOffered, note }
}

/** For a person who cannot open the keyring, on a device that has the keys. */
export function RepairOffer({ owner }: { owner: VaultOwner }) {
  return (
    <p class="hint" role="status">
      {later.vault.repairOffer} <Button onClick={() => showRepair(owner)}>{later.vault.repair}</Button>
    </p>
  )
}

/** The address that leads back to the repair after a sign-in. */
export const repairAddress = hrefOf('security', 'repair')

export function showRepair(owner: VaultOwner): void {
  withRecentSignIn(owner.client, { to: repairAddress }, (close) => <Repair owner={owner} close={close} />)
}

function Repair({ owner, close }: OwnerProps) {
  const { client, userId, person } = owner
  const [draft, setDraft] = useState<VaultDraft>()
  /** True if the keys were replaced, according to the service, now or earlier. */
  const [areReplaced, setReplaced] = useState(areKeysReplaced(userId))
  const prepare = async ({ passphrase = '' }: Record<string, string>) => {
    const masterKey = await loadMasterKey(userId)
    if (!masterKey) throw new UserFacingError(later.vault.noKeysHere)
    try {
      setDraft(await repairVault(client, { userId, masterKey, passphrase, replacesKeys: areReplaced, ...judgedHere }))
    } catch (error) {
      if (!(error instanceof KeyringError) || error.fault !== 'keys-replaced') throw error
      setReplaced(true)
    }
  }
  const confirmed = async ({ masterKey }: Vault) => {
    if (areReplaced) await keepMasterKey(userId, masterKey)
    close()
    if (areReplaced) {
      noteReplacedKeys(undefined)
      // The vault that is open here has the old keys.
      if (!hasLeft()) return location.reload()
    }
    tell(later.vault.repaired)
  }
  return (
    <Dialog title={draft ? later.vault.printCode : later.vault.repairTitle} close={close}>
      {draft ? (
        <RecoveryCode draft={draft} person={person} confirmed={confirmed} cancel={close} />
      ) : (
        <Form onSubmit={prepare}>
          {areReplaced ? <OtherDeviceFirst /> : <p>{later.vault.sameKeys}</p>}
          <AccountName owner={owner} />
          <NewPassphraseField person={person} autofocus />
          <FormEnd close={close}>{areReplaced ? later.vault.makeNewKeys : say.ui.continue}</FormEnd>
        </Form>
      )}
    </Dialog>
  )
}

/** Shown before this browser makes new keys. It must not restore its old keys, because it may be a lost device. */
function OtherDeviceFirst() {
  return (
    <div role="alert">
      <p>{later.vault.otherDeviceFirst}</p>
      <p>{later.vault.otherDeviceElse}</p>
    </div>
  )
}
