import type { components } from '../../../generated/client.ts'
import { isSealedAnew } from '../../protocol/sealed-anew.ts'

type Version = components['schemas']['Version']

/**
 * A rotation of the keys encrypts anew, which is nobody's edit. Of each edit that is left the last copy, newest first, with
 * the time and device of whoever made it; what is current under a newer key is not among them.
 */
export function onceEach(versions: readonly Version[]): Version[] {
  const last = versions.filter(({ version_id, replaced_by }) => !isSealedAnew(replaced_by, version_id))
  return last.map((version) => {
    const first = versions.findLast(({ version_id }) => isSealedAnew(version.version_id, version_id)) ?? version
    const { operation, timestamp, device_id, began } = first
    return { ...version, operation, timestamp, device_id, began }
  })
}
