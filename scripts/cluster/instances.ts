import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { runService, type ServiceProcess } from '../servers/service.ts'

export type Instance = ServiceProcess & { number: number; port: number; log: string }

/** Starts an instance on each port, all with the same settings. Each writes a log file into the folder. */
export async function startInstances(
  ports: number[],
  folder: string,
  env: Record<string, string>,
): Promise<{ instances: Instance[]; close(): Promise<void> }> {
  const instances = await Promise.all(ports.map((port, index) => startInstance(index + 1, port, folder, env)))
  const close = async () => {
    await Promise.all(instances.map(({ stop }) => stop()))
  }
  try {
    await Promise.all(instances.map(({ ready }) => ready()))
  } catch (error) {
    await close()
    throw error
  }
  return { instances, close }
}

async function startInstance(
  number: number,
  port: number,
  folder: string,
  env: Record<string, string>,
): Promise<Instance> {
  const log = join(folder, `instance-${number}.log`)
  const file = await open(log, 'a')
  const service = runService({ ...env, PORT: String(port) }, file.fd)
  await file.close()
  return { ...service, number, port, log }
}
