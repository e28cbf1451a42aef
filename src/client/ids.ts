import { Id } from '../../generated/limits.ts'

/** The form of every id: of users, devices, entities and events. */
export const idForm = `${Id.minLength} to ${Id.maxLength} printable ASCII characters, but neither . nor ..`

const characters = new RegExp(Id.pattern)

/** Whether the service accepts this as an id. Ids contain no NUL, so NUL can separate them in associated data. */
export function isId(value: unknown): value is string {
  return (
    typeof value === 'string' && value.length >= Id.minLength && value.length <= Id.maxLength && characters.test(value)
  )
}

/** @throws RangeError */
export function assertId(value: unknown, name: string): void {
  if (!isId(value)) throw new RangeError(`${name} must be ${idForm}, not ${JSON.stringify(value)}`)
}
