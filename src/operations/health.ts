import packageJson from '../../package.json' with { type: 'json' }
import type { Operations } from '../contract.ts'

export const healthOperations: Operations<'getHealth'> = {
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
