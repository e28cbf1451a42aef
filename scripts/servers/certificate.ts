import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Makes a self-signed certificate for localhost and this address. The files have the names that MinIO expects. */
export async function makeCertificate(
  folder: string,
  address = '127.0.0.1',
): Promise<{ caFile: string; keyFile: string }> {
  await mkdir(folder, { recursive: true })
  const [caFile, keyFile] = [join(folder, 'public.crt'), join(folder, 'private.key')]
  const names = `subjectAltName=DNS:localhost,IP:${address}`
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', keyFile]
  const certificate = ['-subj', '/CN=localhost', '-addext', names, '-days', '365', '-out', caFile]
  await promisify(execFile)('openssl', ['req', '-x509', ...key, ...certificate])
  return { caFile, keyFile }
}
