import { TooManyExports, TooManyExportsKept } from '../../../generated/errors.ts'
import { ApiError, type Client, type components, type Sync, unwrap } from '../../client/index.ts'

/** A backup that the service keeps, or is making. */
export type ServiceBackup = components['schemas']['Export']

export async function listBackups(client: Client): Promise<readonly ServiceBackup[]> {
  return unwrap(await client.GET('/api/v1/exports')).exports
}

/** Whether the service is still making it. */
export function isUnfinished({ status }: ServiceBackup): boolean {
  return status === 'pending' || status === 'processing'
}

/** The service makes the backup from the ciphertext that it has, so what waits here is sent first. */
export async function makeBackup(client: Client, sync: Sync): Promise<void> {
  await sync.syncNow()
  try {
    unwrap(await client.POST('/api/v1/exports'))
  } catch (error) {
    const text = error instanceof ApiError ? refusals[error.message] : undefined
    throw text === undefined ? error : new Error(text, { cause: error })
  }
}

const refusals: Record<string, string | undefined> = {
  [TooManyExports[1]]: 'Other backups of yours are still being made. Wait until one of them is done.',
  [TooManyExportsKept[1]]: 'The service keeps no more backups of yours. Delete one below, then try again.',
}

export async function downloadBackup(client: Client, { id }: ServiceBackup): Promise<Blob> {
  return unwrap(await client.GET('/api/v1/exports/{id}', { params: { path: { id } }, parseAs: 'blob' })) as Blob
}

export async function deleteBackup(client: Client, { id }: ServiceBackup): Promise<void> {
  unwrap(await client.DELETE('/api/v1/exports/{id}', { params: { path: { id } } }))
}
