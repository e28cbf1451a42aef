import { startMinio } from './servers/minio.ts'

const server = await startMinio()
const variables = Object.entries(await server.createBucket()).map(([name, value]) => `${name}='${value}'`)
console.log(
  `MinIO runs, with an empty bucket, until Ctrl-C. To start the service on it:\n\n${variables.join(' ')} npm start`,
)
const stop = async () => {
  await server.close()
  process.exit(0)
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
