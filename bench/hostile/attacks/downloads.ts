import { setTimeout as sleep } from 'node:timers/promises'
import type { Schemas } from '../../../src/service/contract/schemas.ts'
import type { Attack, Target } from '../attack.ts'
import { send, sendUnread } from '../connections.ts'
import { storeRecords } from '../seed.ts'

/** Four hundred downloads of an export, none of which is read. Each may hold a connection and a file. */
export const downloads: Attack = {
  files: 512,
  seed: (context, attacker) => storeRecords(context, attacker, { count: 64, bytes: 256 * 1024 }),
  async run(target) {
    const path = `/api/v1/exports/${await makeExport(target)}`
    for (let download = 0; download < 400; download++) sendUnread(target, { operation: 'downloadExport', path })
  },
}

async function makeExport(target: Target): Promise<string> {
  const { text } = await send(target, { operation: 'createExport' })
  const { id }: Schemas['Export'] = JSON.parse(text)
  for (;;) {
    const { exports }: { exports: Schemas['Export'][] } = JSON.parse(
      (await send(target, { operation: 'listExports' })).text,
    )
    if (exports.some((made) => made.id === id && made.status === 'completed')) return id
    await sleep(100)
  }
}
