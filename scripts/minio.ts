/** `npm run minio`. */
import { command, run } from '../src/service/terminal/command.ts'
import { untilStopped } from './servers/until-stopped.ts'

await run(
  command(
    'minio',
    'Runs MinIO with an empty bucket, to try the S3 store, until Ctrl-C.',
    'It uses MINIO_BIN, or the minio in PATH, or builds one with Go once.',
  ).action(serve),
)

async function serve(): Promise<void> {
  const { startMinio } = await import('./servers/minio.ts')
  await untilStopped(async (opened) => {
    const server = opened.adopt(await startMinio(), ({ close }) => close())
    const variables = Object.entries(await server.createBucket()).map(([name, value]) => `${name}='${value}'`)
    return `MinIO runs with an empty bucket until Ctrl-C. To start the service on it:\n\n${variables.join(' ')} npm start`
  })
}
