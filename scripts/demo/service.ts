import { join } from 'node:path'
import { freePort } from '../development/servers/free-port.ts'
import { runService, type ServiceProcess } from '../development/servers/service.ts'

/** A service with the development provider, on free ports and on `folder`/data. */
export async function spawnService(
  folder: string,
  settings: Record<string, string> = {},
): Promise<ServiceProcess & { url: URL }> {
  const url = new URL(`http://127.0.0.1:${await freePort()}`)
  const env = {
    DATA_DIR: join(folder, 'data'),
    SERVE_DEMO: 'false',
    PORT: url.port,
    PUBLIC_URL: url.origin,
    DEV_IDP_PORT: '0',
    LOG_LEVEL: 'warn',
    ...settings,
  }
  return { url, ...runService(env, 'ignore') }
}
