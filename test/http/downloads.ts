import { Readable } from 'node:stream'
import type { TestApp, TestUser } from '../support/app.ts'
import { createdExport } from '../support/exports.ts'

const gibibyte = 1024 ** 3

/** Makes exports of 1 GiB: their files have as many bytes as are asked for. */
export function openEndlessExports({ context }: TestApp) {
  const bodies: Readable[] = []
  context.objects = {
    ...context.objects,
    async get() {
      const body: Readable = new Readable({ read: (size) => void body.push(Buffer.alloc(size)) })
      bodies.push(body)
      return { size: gibibyte, body }
    },
  }
  return {
    /** Returns its path. */
    async make(user: TestUser): Promise<string> {
      const { id } = await createdExport(user)
      await context.database.db.updateTable('exports').set({ size_bytes: gibibyte }).where('id', '=', id).execute()
      return `/api/v1/exports/${id}`
    },
    openFiles: () => bodies.filter(({ destroyed }) => !destroyed).length,
  }
}
