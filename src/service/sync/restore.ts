import { decide } from '../../protocol/decide.ts'
import { isReencrypted } from '../../protocol/re-encrypted.ts'
import { ServiceError } from '../contract/errors.ts'
import { findCiphertext } from '../db/tables/ciphertexts.ts'
import { findStored, type RecordRow, type Stored } from '../db/tables/records.ts'
import { findKept, type VersionRow } from '../db/tables/versions.ts'
import { type Caller, newEventId, type SharedData } from './change.ts'
import { isLive } from './rows.ts'
import { baseOf, changeRecords, readSeen, type WriteParts } from './write.ts'

/** Makes a kept version's content current, by a change that always wins. Version and record share the ciphertext. */
export async function restoreRecord(
  parts: WriteParts,
  caller: Caller,
  id: string,
  versionId: string | undefined,
): Promise<RecordRow> {
  const { userId, deviceId } = caller
  const bookmark = { entity_type: 'bookmark', entity_id: id } as const
  const { rows, result } = await changeRecords(parts, caller, async (trx, user, now) => {
    const [stored] = await findStored(trx, userId, [bookmark])
    if (!stored) throw new ServiceError('BookmarkNotFound')
    const kept = await findKept(trx, { userId, ...bookmark })
    const source = choose(kept, stored, versionId)
    const encrypted_data = source && (await findCiphertext(trx, userId, source.data_sequence))
    if (!source || encrypted_data === undefined) throw new ServiceError('VersionNotFound')
    const settled = versionId !== undefined && source ? [source.sequence] : []

    const timestamp = Math.max(now, stored.timestamp + 1)
    const made = { device_id: deviceId, operation: 'update', ...baseOf(deviceId, stored) } as const
    const content = { encrypted_data, data_hash: source.data_hash }
    const change = { ...bookmark, id: newEventId(), timestamp, ...made, ...content }
    const verdict = decide([change], stored, await readSeen(trx, user, [[change]], [stored]))
    return { verdicts: [{ ...verdict, shared: source }], settled, result: encrypted_data }
  })
  return { ...(rows[0] as RecordRow), encrypted_data: result }
}

type Source = SharedData & { data_hash: string }
type WithData = VersionRow & { data_sequence: number }

/** Chooses the version. Default: a deleted record's content before the delete, or a live record's previous content. */
function choose(kept: VersionRow[], stored: Stored, versionId: string | undefined): Source | undefined {
  const sources = kept.toSorted((one, other) => other.sequence - one.sequence).filter(hasData)
  if (versionId !== undefined) return toSource(firstNamed(sources, versionId))
  if (isLive(stored)) return toSource(lastBefore(sources, stored))
  return toSource(sources.find(({ data_sequence }) => data_sequence === stored.data_sequence))
}

/** The first version to arrive with this id. Others may imitate it, but cannot know an id before it has been sent. */
function firstNamed(sources: WithData[], versionId: string): WithData | undefined {
  const arrival = ({ began, sequence }: VersionRow) => began ?? sequence
  const named = sources.filter(({ version_id }) => version_id === versionId)
  return named.sort((one, other) => arrival(one) - arrival(other))[0]
}

/** The last version that was current. Prefers one that is not the same edit under an older key; ids can be faked. */
function lastBefore(sources: WithData[], { event_id }: Stored): WithData | undefined {
  const before = sources.filter(({ began }) => began !== null)
  return before.find(({ version_id }) => !isReencrypted(event_id, version_id)) ?? before[0]
}

function hasData(version: VersionRow): version is WithData {
  return version.data_sequence !== null
}

function toSource(version: WithData | undefined): Source | undefined {
  if (!version) return undefined
  const { data_sequence, bytes, data_hash, sequence } = version
  return { data_sequence, bytes, data_hash: data_hash ?? '', sequence }
}
