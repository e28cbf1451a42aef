import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { runService, type ServiceProcess } from '../servers/service.ts'

/** A service of the demo's own, on free ports and on `folder`/data. */
export async function spawnService(
  folder: string,
  settings: Record<string, string> = {},
): Promise<ServiceProcess & { url: URL }> {
  const [port, providerPort] = await findFreePorts()
  const url = new URL(`http://127.0.0.1:${port}`)
  const env = {
    DATA_DIR: join(folder, 'data'),
    SERVE_DEMO: 'false',
    PORT: String(port),
    PUBLIC_URL: url.origin,
    DEV_IDP_PORT: String(providerPort),
    LOG_LEVEL: 'warn',
    ...settings,
  }
  return { url, ...runService(env, 'ignore') }
}

/** Both are held until both are known, so that they differ. */
async function findFreePorts(): Promise<number[]> {
  const servers = [createServer(), createServer()]
  for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening')
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  for (const server of servers) await once(server.close(), 'close')
  return ports
}
