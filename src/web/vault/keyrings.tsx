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
  type VaultDraft,
} from '../../client/index.ts'
import { showCarefully } from '../account/carefully.tsx'
import { hrefOf } from '../app/route.ts'
import { areKeysReplaced, noteReplacedKeys } from '../app/session.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialogs.tsx'
import { messageOf, ToldError } from '../ui/failure.ts'
import { FieldFault, Form, FormEnd } from '../ui/form.tsx'
import { tell } from '../ui/tell.ts'
import { Time } from '../ui/time.tsx'
import { Waiting } from '../ui/waiting.tsx'
import { AccountName, type VaultOwner } from './credentials.tsx'
import { NewPassphraseField } from './new-passphrase.tsx'
import { RecoveryCode } from './recovery-code.tsx'
import { judgedHere } from './strength.ts'

interface OwnerProps {
  owner: VaultOwner
  close: () => void
}

/** Lists what opened the vault before, and brings one of it back. */
export function showEarlierKeyrings(owner: VaultOwner): void {
  showCarefully(owner.client, { to: keyringsAddress }, (close) => <EarlierKeyrings owner={owner} close={close} />)
}

/** At which the person comes back to the list. */
export const keyringsAddress = hrefOf('security', 'keyrings')

function EarlierKeyrings({ owner: { client }, close }: OwnerProps) {
  const [keyrings, setKeyrings] = useState<EarlierKeyring[]>()
  const [failure, setFailure] = useState<string>()
  const load = () => earlierKeyrings(client).then(setKeyrings, (error: unknown) => setFailure(messageOf(error)))
  useEffect(() => void load(), [])
  const restore = async (id: string) => {
    await restoreKeyring(client, id)
    tell('Restored. The passphrase and the recovery code of that time count again.')
    close()
  }
  const erase = async () => {
    await eraseEarlierKeyrings(client)
    tell('The earlier keyrings are erased')
    close()
  }
  return (
    <Dialog title="Earlier keyrings" close={close}>
      <div class="form">
        <p>
          What your passphrase and your recovery code open is kept for a while when it is replaced. If they stopped to
          open your bookmarks, restore what they opened last; the one that counts now is kept in its place. If the keys
          were changed since, an earlier keyring opens what was encrypted until then, and nothing that came later.
        </p>
        {failure !== undefined && <p role="alert">{failure}</p>}
        {!keyrings && failure === undefined && <Waiting again={load} />}
        {keyrings?.length === 0 && <p role="status">There are none: nothing was replaced lately.</p>}
        <ul class="plain lines">
          {keyrings?.map(({ id, revision, keyId, replacedAt, erasedAt }, index) => (
            <li key={id} class="line">
              <div class="row-text">
                <span class="line-name">Keyring {revision}</span>
                <span class="hint">
                  Replaced <Time at={replacedAt} isExact />, erased <Time at={erasedAt} />
                  {hasOtherKeys(keyId, keyrings.slice(0, index)) &&
                    '. A later one has other keys: this one opens less.'}
                </span>
              </div>
              <Button aria-label={`Restore keyring ${revision}`} onClick={() => restore(id)}>
                Restore
              </Button>
            </li>
          ))}
        </ul>
        <div class="bar end">
          {keyrings && keyrings.length > 0 && (
            <Button look="danger" onClick={erase}>
              Erase them all
            </Button>
          )}
          <Button onClick={close}>Close</Button>
        </div>
      </div>
    </Dialog>
  )
}

/** True if the keys were changed after the keyring, as later ones say that name theirs. Junk may name none. */
function hasOtherKeys(keyId: string | undefined, later: EarlierKeyring[]): boolean {
  return later.some((one) => one.keyId !== undefined && one.keyId !== keyId)
}

/** True if the keyring was found not to open, on a device that is unlocked; and what notes that. */
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

/** The way on for somebody whom nothing opens the keyring, on a device that has the keys. */
export function RepairOffer({ owner }: { owner: VaultOwner }) {
  return (
    <p class="hint" role="status">
      Nothing opens it although it should? This browser has the keys, so you can choose a new passphrase for them.{' '}
      <Button onClick={() => showRepair(owner)}>Repair the vault…</Button>
    </p>
  )
}

/** At which the person comes back to the repair. */
export const repairAddress = hrefOf('security', 'repair')

export function showRepair(owner: VaultOwner): void {
  showCarefully(owner.client, { to: repairAddress }, (close) => <Repair owner={owner} close={close} />)
}

function Repair({ owner, close }: OwnerProps) {
  const { client, userId, person } = owner
  const [draft, setDraft] = useState<VaultDraft>()
  /** As far as the service says, or has said. */
  const [areReplaced, setReplaced] = useState(areKeysReplaced(userId))
  const prepare = async ({ passphrase = '' }: Record<string, string>) => {
    const masterKey = await loadMasterKey(userId)
    if (!masterKey) throw new ToldError('This browser does not keep the keys. Try it in the one that you use most.')
    try {
      setDraft(await repairVault(client, { userId, masterKey, passphrase, replacesKeys: areReplaced, ...judgedHere }))
    } catch (error) {
      if (!(error instanceof KeyringError) || error.fault !== 'keys-replaced') throw error
      setReplaced(true)
    }
  }
  const confirm = async () => {
    const vault = await draft?.confirm()
    if (vault && areReplaced) await keepMasterKey(userId, vault.masterKey)
    close()
    if (areReplaced) {
      noteReplacedKeys(undefined)
      // The vault that is open here has the keys of before.
      return location.reload()
    }
    tell('The vault is repaired: the new passphrase and the new recovery code open it')
  }
  return (
    <Dialog title={draft ? 'Print this recovery code' : 'Repair the vault'} close={close}>
      {draft ? (
        <RecoveryCode draft={draft} person={person} confirm={confirm}>
          <Button onClick={close}>Cancel</Button>
        </RecoveryCode>
      ) : (
        <Form onSubmit={prepare}>
          {areReplaced ? <OtherDeviceFirst /> : <SameKeys />}
          <AccountName owner={owner} />
          <NewPassphraseField person={person} autofocus />
          <FormEnd close={close}>{areReplaced ? 'Make new keys' : 'Continue'}</FormEnd>
        </Form>
      )}
    </Dialog>
  )
}

function SameKeys() {
  return (
    <p>
      The keys that this browser has stay the same, and so do your bookmarks. They get a new passphrase and a new
      recovery code; those of before open nothing any more.
    </p>
  )
}

/** The keys of this browser are not put back: somebody who found a lost device may have them. */
function OtherDeviceFirst() {
  return (
    <div role="alert">
      <p>
        The keys were changed on another device, and this browser has those of before. Repair the vault on the device
        where you changed them, or on one that you have opened since.
      </p>
      <p>
        Only if you have none, or never changed them: this browser can make new keys, for the bookmarks that it has.
        What was saved under the changed keys alone does not open after that.
      </p>
    </div>
  )
}
