import { tethered } from '../../scripts/servers/tethered.ts'
import type { Server } from '../servers/service.ts'

/** Starts a server and waits until the URL answers. */
export async function runPeer(
  command: readonly [string, ...string[]],
  url: string,
): Promise<Pick<Server, 'pid' | 'close'>> {
  const { start, pid, stop } = tethered(command, { lastSignal: 'KILL', isReady: () => answers(url) })
  await start()
  return { pid: pid(), close: stop }
}

async function answers(url: string): Promise<boolean> {
  const answer = await fetch(url).catch(() => undefined)
  await answer?.body?.cancel()
  return answer !== undefined
}
