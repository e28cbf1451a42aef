import packageJson from '../../../package.json' with { type: 'json' }
import type { Schemas } from '../contract/schemas.ts'
import type { Health } from '../operating/health.ts'
import type { Operations } from './operation.ts'

interface Parts {
  config: { environment: Schemas['Health']['environment'] }
  health: Pick<Health, 'status'>
  clock: () => number
}

export const healthOperations: Operations<'getHealth', Parts> = {
  async getHealth(_request, { config, health, clock }) {
    return {
      status: 200,
      body: {
        name: 'encrypted-bookmark-sync',
        version: packageJson.version,
        environment: config.environment,
        status: health.status(),
        timestamp: new Date(clock()).toISOString(),
      },
    }
  },
}
