/** `npm run minio`. */
import { command, run } from '../src/service/terminal/command.ts'

await run(
  command(
    'minio',
    'Runs a MinIO with an empty bucket for trying the S3 store, until Ctrl-C.',
    'The server is MINIO_BIN, or in PATH, or is built with Go once.',
  ).action(serve),
)

async function serve(): Promise<void> {
  const { startMinio } = await import('./servers/minio.ts')
  const server = await startMinio()
  const stop = async () => {
    await server.close()
    process.exit(0)
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
  const variables = Object.entries(await server.createBucket()).map(([name, value]) => `${name}='${value}'`)
  console.log(
    `MinIO runs, with an empty bucket, until Ctrl-C. To start the service on it:\n\n${variables.join(' ')} npm start`,
  )
}
