import { useEffect, useState } from 'preact/hooks'
import {
  type Credentials,
  changeVaultPassphrase,
  type RecoveryCodeDraft,
  replaceRecoveryCode,
} from '../../client/index.ts'
import { useSync } from '../../client/react.ts'
import { showCarefully } from '../account/carefully.tsx'
import { useApp } from '../app/context.ts'
import { hrefOf } from '../app/route.ts'
import { nameOf } from '../library/kind.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialogs.tsx'
import { sentence } from '../ui/failure.ts'
import { counted } from '../ui/figures.ts'
import { FileButton, saveFile } from '../ui/files.tsx'
import { Form, FormEnd } from '../ui/form.tsx'
import { Progress } from '../ui/progress.tsx'
import { tell } from '../ui/tell.ts'
import { CredentialFields, tryCredentials, type VaultOwner } from '../vault/credentials.tsx'
import { RepairOffer, showEarlierKeyrings, showRepair, useRepairOffer } from '../vault/keyrings.tsx'
import { NewPassphraseField } from '../vault/new-passphrase.tsx'
import { RecoveryCode } from '../vault/recovery-code.tsx'
import { judgedHere } from '../vault/strength.ts'
import { Backups } from './backups.tsx'
import { type ImportJob, importFile, useImportJob } from './import-job.ts'

/** Tools for now and then: files, backups, and what opens the vault. */
export function Settings({ rest }: { rest: string }) {
  return (
    <div class="page">
      <h1>Import, export, vault</h1>
      <BookmarkFiles />
      <Bookmarklet />
      <Backups />
      <VaultTools asked={rest} />
    </div>
  )
}

/** Files as browsers import and export them. */
function BookmarkFiles() {
  const sync = useSync()
  const job = useImportJob()
  const write = async () => {
    const { writeBookmarkFileAsync } = await import('../../client/bookmark-file.ts')
    const text = await writeBookmarkFileAsync([...sync.bookmarks().values()])
    saveFile(new Blob([text], { type: 'text/html' }), 'bookmarks.html')
  }
  return (
    <section class="panel">
      <h2>Bookmark files</h2>
      <p>The file that every browser can import and export. It is not encrypted.</p>
      <div class="bar">
        <FileButton label="Import a bookmark file" accept=".htm,.html" chosen={(file) => importFile(sync, file)} />
        <Button onClick={write}>Save as a bookmark file</Button>
      </div>
      {job && <Import job={job} />}
    </section>
  )
}

/** One bar from the file to the service; then what was added, skipped, failed. */
function Import({ job }: { job: ImportJob }) {
  const { report, failed = [], failure, isOffline } = job
  if (failure !== undefined) return <p role="alert">Nothing was imported. {sentence(failure)}</p>
  if (!report) return <Progress {...job} />
  const { imported, existing } = report
  return (
    <div class="report" role="status">
      <p>
        {counted(imported, 'bookmark or folder', 'bookmarks and folders')} imported
        {existing.length > 0 && `, ${counted(existing.length, 'was', 'were')} there already`}
        {failed.length > 0 && `, ${failed.length.toLocaleString()} failed:`}
      </p>
      {failed.length > 0 && (
        <ul>
          {failed.map(({ bookmark, why }) => (
            <li key={bookmark?.id}>
              “{bookmark ? nameOf(bookmark) : 'without a valid id'}”: {why}
            </li>
          ))}
        </ul>
      )}
      {isOffline && <p>What is not sent yet is in this browser, and is sent as soon as the service can be reached.</p>}
    </div>
  )
}

/**
 * A new recovery code, and another passphrase. Both ask for the current one or the other.
 *
 * @param asked what the person comes back to from signing in again
 */
function VaultTools({ asked }: { asked: string }) {
  const owner = useApp()
  const replaceCode = () =>
    showCarefully(owner.client, { to: hrefOf('settings', 'code') }, (close) => <NewCode owner={owner} close={close} />)
  const changePassphrase = () =>
    showCarefully(owner.client, { to: hrefOf('settings', 'passphrase') }, (close) => (
      <NewPassphrase owner={owner} close={close} />
    ))
  useEffect(() => {
    if (asked === 'code') replaceCode()
    if (asked === 'passphrase') changePassphrase()
    if (asked === 'keyrings') showEarlierKeyrings(owner)
    if (asked === 'repair') showRepair(owner)
  }, [asked])
  return (
    <section class="panel">
      <h2>Passphrase and recovery code</h2>
      <p>
        In this browser your bookmarks are stored unencrypted, so that they are there at once and offline. “Lock”, in
        the menu at the top, forgets the keys: the page asks for the passphrase again, which needs a connection. Only
        signing out deletes the bookmarks from this browser, which clears its files later: on a computer that others
        use, open this page in a private window.
      </p>
      <div class="bar">
        <Button onClick={replaceCode}>New recovery code</Button>
        <Button onClick={changePassphrase}>Change the passphrase</Button>
        <Button onClick={() => showEarlierKeyrings(owner)}>Earlier keyrings…</Button>
      </div>
    </section>
  )
}

interface ToolProps {
  owner: VaultOwner
  close: () => void
}

function NewCode({ owner, close }: ToolProps) {
  const { client, userId, person } = owner
  const [draft, setDraft] = useState<RecoveryCodeDraft>()
  const { isOffered, note } = useRepairOffer()
  const prepare = async (fields: Record<string, string>) => {
    setDraft(await note(tryCredentials(userId, fields, (current) => replaceRecoveryCode(client, current))))
  }
  const confirm = async () => {
    await draft?.confirm()
    close()
    tell('The new recovery code counts, the old one no longer does')
  }
  return (
    <Dialog title={draft ? 'Print this recovery code' : 'New recovery code'} close={close}>
      {draft ? (
        <RecoveryCode draft={draft} person={person} confirm={confirm}>
          <Button onClick={close}>Cancel</Button>
        </RecoveryCode>
      ) : (
        <Form onSubmit={prepare}>
          <CredentialFields owner={owner} />
          {isOffered && <RepairOffer owner={owner} />}
          <FormEnd close={close}>Show the new code</FormEnd>
        </Form>
      )}
    </Dialog>
  )
}

function NewPassphrase({ owner, close }: ToolProps) {
  const { client, userId, person } = owner
  const { isOffered, note } = useRepairOffer()
  const change = async (fields: Record<string, string>) => {
    const replace = (current: Credentials) =>
      changeVaultPassphrase(client, current, fields.passphrase ?? '', judgedHere)
    await note(tryCredentials(userId, fields, replace))
    close()
    tell('The passphrase was changed')
  }
  return (
    <Dialog title="Change the passphrase" close={close}>
      <Form onSubmit={change}>
        <CredentialFields owner={owner} />
        <NewPassphraseField person={person} />
        {isOffered && <RepairOffer owner={owner} />}
        <FormEnd close={close}>Change it</FormEnd>
      </Form>
    </Dialog>
  )
}

/** A bookmark for the browser's own bar, which saves the page that is shown there. */
function Bookmarklet() {
  const code = `open('${location.origin}/#/add/'+encodeURIComponent(JSON.stringify([document.title,location.href,true])),'','width=520,height=720')`
  return (
    <section class="panel">
      <h2>Add from any page</h2>
      <p>Drag this button to the bookmarks bar of your browser. Pressed on any page, it saves that page here.</p>
      <div class="bar">
        <a
          class="button"
          href={`javascript:void(${code})`}
          onClick={(event) => {
            event.preventDefault()
            tell('Drag it to the bookmarks bar of your browser, and press it there')
          }}
        >
          Add this page
        </a>
      </div>
    </section>
  )
}
