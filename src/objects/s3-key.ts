import { createHash, hkdfSync } from 'node:crypto'

/**
 * The headers of server-side encryption with a customer-provided key (SSE-C). Always a new object: the client writes
 * other headers into the one it is given.
 */
export function customerKeyHeaders(exportKey: Uint8Array): Record<string, string> {
  const key = Buffer.from(hkdfSync('sha256', exportKey, '', 'ebs/sse-c/1', 32))
  const prefix = 'x-amz-server-side-encryption-customer'
  return {
    [`${prefix}-algorithm`]: 'AES256',
    [`${prefix}-key`]: key.toString('base64'),
    [`${prefix}-key-md5`]: createHash('md5').update(key).digest('base64'),
  }
}
