import t from 'tap'
import { type MinioServer, startMinio } from '../../scripts/development/servers/minio.ts'
import { NoMinioError } from '../../scripts/development/servers/minio-binary.ts'

/** One server for a test file, closed at its end; a sentence that says why there is none, except where CI is set. */
export async function startTestMinio(): Promise<MinioServer | string> {
  try {
    const server = await startMinio()
    t.teardown(() => server.close())
    return server
  } catch (error) {
    if (!(error instanceof NoMinioError) || process.env.CI) throw error
    console.error(`\nNOT TESTED: ${error.message}\n`)
    return error.message
  }
}
