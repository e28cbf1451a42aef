import { form as formOfBookmark } from '../../../generated/bookmark-form.ts'
import { PlaintextBookmark as required } from '../../../generated/required.ts'
import type { PlaintextBookmark } from '../bookmark.ts'
import { RecordError } from '../errors.ts'

/** From the contract: types or `=` and a value, separated by spaces; `[form of the items]`; or an object (`*`: any other field). */
type Form = string | readonly [Form] | Fields
type Fields = { readonly [name: string]: Form }

/**
 * Checks a bookmark's fields against the contract's types, on which other devices rely. Unknown fields may be any JSON.
 * Does not check the id: encrypting does.
 *
 * @param isPart true if required fields may be missing
 * @throws RecordError `malformed`
 */
export function requireForm(fields: Partial<PlaintextBookmark>, isPart = false): void {
  const missing = required.filter((name) => !isPart && fields[name] === undefined)
  const fault = [...missing, ...malformedFields(fields)].find((name) => name !== 'id')
  if (fault) throw new RecordError('malformed', `Bookmark ${fields.id}: ${fault} is not what the contract says`)
}

/** The bookmark without malformed fields, which other clients may have written. Required fields get defaults. */
export function withoutMalformed(bookmark: object): PlaintextBookmark {
  const names = malformedFields(bookmark)
  const kept = Object.entries(bookmark).filter(([name]) => !names.includes(name))
  return { title: '', source: 'bookmarks', ...Object.fromEntries(kept) } as PlaintextBookmark
}

function malformedFields(object: object, forms: Fields = formOfBookmark): string[] {
  return Object.entries(object).flatMap(([name, value]) => {
    try {
      return value === undefined || isOf(forms[Object.hasOwn(forms, name) ? name : '*'], value) ? [] : name
    } catch {
      // A value that contains itself overflows the stack, and has no JSON.
      return name
    }
  })
}

function isOf(form: Form | undefined, value: unknown): boolean {
  const isList = Array.isArray(value)
  if (typeof value !== 'object' || !value) {
    const type = value === null ? 'null' : typeof value
    const isJson = ['string', 'boolean', 'null'].includes(type) || Number.isFinite(value)
    const isOne = (kind: string) => kind === type || kind === `=${value}`
    return isJson && (!form || (typeof form === 'string' && form.split(' ').some(isOne)))
  }
  if (form && (typeof form !== 'object' || Array.isArray(form) !== isList)) return false
  if (isList) return value.every((item) => isOf((form as readonly [Form] | undefined)?.[0], item))
  const prototype = Object.getPrototypeOf(value)
  // Also plain if the object comes from another frame, which has its own `Object.prototype`.
  const isPlain = !prototype || !Object.getPrototypeOf(prototype)
  return isPlain && malformedFields(value, (form ?? {}) as Fields).length === 0
}
