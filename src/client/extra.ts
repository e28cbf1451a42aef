/** `encrypted-bookmark-sync-client/extra`: an app's own fields of bookmarks, described by a schema. */
import type { PlaintextBookmark } from './bookmark.ts'

/** A bookmark's `extra`. It may also have fields of the user's other apps, and of other versions of this app. */
export type StoredExtra = NonNullable<PlaintextBookmark['extra']>

/**
 * A schema of any library that follows [Standard Schema](https://standardschema.dev), such as zod, Valibot and ArkType.
 * A bookmark stores the `Input`; validating it returns the `Output`.
 */
export interface ExtraSchema<Input, Output> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    readonly validate: (value: unknown) => ExtraResult<Output> | Promise<ExtraResult<Output>>
  }
}

/** The result of validating a value. */
export type ExtraResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly ExtraIssue[] }

/** A fault in a value; `message` is the schema's own text. */
export interface ExtraIssue {
  readonly message: string
  /** The names and indexes that lead to the faulty value. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** Fields to change. One that is undefined is removed. */
export type ExtraPatch<Input> = { [Name in keyof Input]?: Input[Name] | undefined }

/** Reads and writes an app's own fields. `defineExtra` returns it. */
export interface ExtraFields<Input, Output> {
  /**
   * The fields as the schema reads them. A bookmark without `extra` counts as one with an empty `extra`. Undefined if
   * the stored fields do not fit the schema, because they come from another app or version, or from a merge of two devices' edits.
   */
  read(extra: Readonly<StoredExtra> | undefined): Output | undefined
  /**
   * The `extra` of a new bookmark.
   *
   * @throws ExtraError the fields do not fit
   */
  write(fields: Input): StoredExtra
  /**
   * The `extra` of a bookmark with some fields changed. All others stay, also those that the schema does not know.
   *
   * @throws ExtraError the result does not fit
   */
  patch(extra: Readonly<StoredExtra> | undefined, changes: ExtraPatch<Input>): StoredExtra
}

/** An app's own fields do not fit its schema. */
export class ExtraError extends Error {
  override readonly name = 'ExtraError'
  /** The schema's issues. */
  readonly issues: readonly ExtraIssue[]

  constructor(issues: readonly ExtraIssue[]) {
    super(issues.map(describe).join('; '))
    this.issues = issues
  }
}

function describe({ path = [], message }: ExtraIssue): string {
  const names = path.map((part) => String(typeof part === 'object' ? part.key : part))
  return `${['extra', ...names].join('.')}: ${message}`
}

/**
 * Reads and writes an app's own fields by a schema. Bookmarks store the schema's input, not its output: the schema
 * reads the input again each time.
 *
 * All methods throw a TypeError if the schema is asynchronous: bookmarks are read and changed without waiting.
 */
export function defineExtra<Input extends object, Output>(
  schema: ExtraSchema<Input, Output>,
): ExtraFields<Input, Output> {
  const validate = (extra: object) => {
    const result = schema['~standard'].validate(extra)
    if (result instanceof Promise) throw new TypeError('The schema of extra must not be asynchronous')
    return result
  }
  const patch: ExtraFields<Input, Output>['patch'] = (extra, changes) => {
    const fields = Object.entries({ ...extra, ...changes }).filter(([, value]) => value !== undefined)
    const patched = Object.fromEntries(fields)
    const { issues } = validate(patched)
    if (issues) throw new ExtraError(issues)
    return patched
  }
  return {
    read(extra = {}) {
      const result = validate(extra)
      return result.issues ? undefined : result.value
    },
    write: (fields) => patch({}, fields),
    patch,
  }
}
