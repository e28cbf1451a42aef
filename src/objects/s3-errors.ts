import { ObjectStoreUnavailableError } from './store.ts'

/** What the store answers whoever asks, whatever the object: somebody has to repair it first. */
const refusals = new Set([
  'AccessDenied',
  'AccountProblem',
  'ExpiredToken',
  'InvalidAccessKeyId',
  'NoSuchBucket',
  'QuotaExceeded',
  'RequestTimeTooSkewed',
  'SignatureDoesNotMatch',
])

/** A refused request: the code of S3's own, such as `NoSuchKey`. */
export class S3RefusalError extends Error {
  override name = 'S3RefusalError'
  readonly code: string

  constructor(code: string, message: string) {
    super(`the object store answers ${code}: ${message}`)
    this.code = code
  }
}

export function isOutage(status: number | undefined): boolean {
  return status === undefined || status === 408 || status === 429 || status === 499 || status >= 500
}

/**
 * What a request comes to, its error made ours. S3's own error is dropped: it may quote the request's headers, and with
 * them the customer key, to whoever logs it.
 */
export async function answered<T>(request: Promise<T>): Promise<T> {
  try {
    return await request
  } catch (error) {
    throw toStoreError(error)
  }
}

function toStoreError(error: unknown): unknown {
  const isOurs = error instanceof ObjectStoreUnavailableError || error instanceof TypeError
  if (isOurs || (error as Error).name === 'AbortError') return error
  const { code, message, syscall } = describe(error)
  // Codes of the system and of Node, for what happens to a connection, are upper case.
  if (syscall || /^[A-Z\d_]+$/.test(code)) {
    return new ObjectStoreUnavailableError(`the object store is out of reach (${message || code})`, { cause: error })
  }
  return new S3RefusalError(code, message)
}

/** The client also throws the parsed answer as it is, which is no Error. */
function describe(error: unknown): { code: string; message: string; syscall: boolean } {
  const { name, code, Code, message, Message, syscall } = error as Record<string, unknown>
  return {
    code: String(code ?? Code ?? name),
    message: String(message ?? Message ?? ''),
    syscall: syscall !== undefined,
  }
}

/** For a write: what nobody is let do is the store's fault, not the object's. */
export function blameStore(error: unknown): unknown {
  const isRefused = error instanceof S3RefusalError && refusals.has(error.code)
  return isRefused ? new ObjectStoreUnavailableError(error.message, { cause: error }) : error
}
