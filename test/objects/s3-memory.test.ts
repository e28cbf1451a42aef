import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { sharedMinio } from '../support/minio.ts'

const program = fileURLToPath(new URL('s3-memory-process.ts', import.meta.url))
const minio = await sharedMinio(t)
if (typeof minio === 'string') t.pass('no MinIO', { skip: minio })
else {
  t.test('200 MB are stored with the process growing by less than 96 MB', async (t) => {
    const env = { ...process.env, ...(await minio.createBucket()) }
    const { stdout } = await promisify(execFile)(process.execPath, [program, '200000000'], { env })
    const { size, growth } = JSON.parse(stdout)
    t.ok(size >= 200e6)
    t.comment(`grew by ${(growth / 1e6).toFixed(1)} MB`)
    t.ok(growth < 96e6)
  })
}
