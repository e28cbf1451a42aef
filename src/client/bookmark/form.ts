import { form as formOfBookmark } from '../../../generated/bookmark-form.ts'
import { PlaintextBookmark as required } from '../../../generated/required.ts'
import type { PlaintextBookmark } from '../bookmark.ts'
import { RecordError } from '../errors.ts'

/** What a value must be: one of these types and `=values`, an array of one form, or an object of these fields (`*`: all others). */
type Form = string | readonly [Form] | Fields
type Fields = { readonly [name: string]: Form }

/**
 * Other devices read what is stored, and rely on the contract's types. What has no form there must be what JSON can hold.
 *
 * Whoever seals it checks the id.
 *
 * @param isPart true of some of a bookmark's fields
 * @throws RecordError `malformed`
 */
export function demandForm(fields: Partial<PlaintextBookmark>, isPart = false): void {
  const missing = required.filter((name) => !isPart && fields[name] === undefined)
  const fault = [...missing, ...malformedFields(fields)].find((name) => name !== 'id')
  if (fault) throw new RecordError('malformed', `Bookmark ${fields.id}: ${fault} is not what the contract says`)
}

/** The bookmark without what another client has stored in a wrong form, or with an empty one where it must have some. */
export function withoutMalformed(bookmark: object): PlaintextBookmark {
  const names = malformedFields(bookmark)
  const kept = Object.entries(bookmark).filter(([name]) => !names.includes(name))
  return { title: '', source: 'bookmarks', ...Object.fromEntries(kept) } as PlaintextBookmark
}

function malformedFields(bookmark: object): string[] {
  return fieldsNotOf(formOfBookmark, bookmark)
}

function fieldsNotOf(forms: Fields, object: object): string[] {
  const isOfForm = ([name, value]: [string, unknown]) => {
    try {
      return value === undefined || isOf(forms[Object.hasOwn(forms, name) ? name : '*'], value)
    } catch {
      // It contains itself, and so has no end.
      return false
    }
  }
  return Object.entries(object).flatMap((field) => (isOfForm(field) ? [] : field[0]))
}

function isOf(form: Form | undefined, value: unknown): boolean {
  if (Array.isArray(value)) {
    const items = form ?? [undefined]
    return Array.isArray(items) && value.every((item) => isOf(items[0], item))
  }
  if (typeof value === 'object' && value !== null) {
    const prototype = Object.getPrototypeOf(value)
    // Of this page, or of another of the same app.
    const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null
    const fields = form ?? {}
    return (
      isPlain &&
      typeof fields === 'object' &&
      !Array.isArray(fields) &&
      fieldsNotOf(fields as Fields, value).length === 0
    )
  }
  const type = value === null ? 'null' : typeof value
  if (!['string', 'boolean', 'null'].includes(type) && !Number.isFinite(value)) return false
  return (
    form === undefined ||
    (typeof form === 'string' && form.split(' ').some((one) => one === type || one === `=${value}`))
  )
}
