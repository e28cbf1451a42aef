/** A backup is named after the moment of its copy, so names sort by age: `2026-11-22T10-30-00-000Z`. */
export function nameOf(ms: number): string {
  return new Date(ms).toISOString().replaceAll(/[:.]/g, '-')
}

/** The moment of the copy (Unix ms); undefined if this is not the name of a backup. */
export function momentOf(name: string): number | undefined {
  const [, day, hour, minute, rest] = /^(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d-\d{3}Z)$/.exec(name) ?? []
  const ms = Date.parse(`${day}${hour}:${minute}:${rest?.replace('-', '.')}`)
  return Number.isNaN(ms) ? undefined : ms
}

/** Whether it is what a backup of such a name left that was never finished. */
export function isUnfinished(name: string): boolean {
  const [backup = '', rest] = name.split('.unfinished-')
  return rest !== undefined && momentOf(backup) !== undefined
}
