import { operations } from '../../generated/operations.ts'
import type { OperationId } from '../../src/service/contract/schemas.ts'
import type { FilledAccount } from './accounts.ts'
import type { Attack, AttackTarget, Kind } from './attack.ts'
import { send } from './connections.ts'
import { callsOf, type HostileCall, type HostileCaller, largeAccountCalls, socketCallsOf } from './operations.ts'
import { useSockets } from './sockets.ts'

const atOnce = 32
/** Simultaneous pushes or imports of 500 each: together as many as the account's 10,000 records. */
const batchesAtOnce = 20
const [socketsAtOnce, messagesOfSocket, socketsMs] = [256, 3_000, 5_000]

/** An attack for each call of `callsOf` and each message of `socketCallsOf`, on an account at its limits. */
export const callAttacks: Record<string, Attack> = Object.fromEntries([
  ...Object.entries(callsOf).flatMap(([id, calls]) =>
    Object.entries(calls).flatMap(([name, prepare]) => {
      const operation = id as OperationId
      const isOfMany = largeAccountCalls.some((one) => one === operation)
      const kinds: Kind[] = isOfMany ? ['versions', 'records'] : ['versions']
      return kinds.map((kind): [string, Attack] => [
        `${operation}:${name}${kind === 'records' ? ':records' : ''}`,
        {
          account: kind,
          stages: [1, isBatch(operation) ? batchesAtOnce : atOnce].map(
            (times) => (target) => callTimes(target, operation, prepare, times),
          ),
        },
      ])
    }),
  ),
  ...Object.entries(socketCallsOf).map(([name, callOf]): [string, Attack] => [
    name,
    {
      account: 'versions',
      stages: [1, socketsAtOnce].map((count) => async ({ port, account }) => {
        const call = (socket: number) => callOf(demand(account), socket, messagesOfSocket)
        const signal = AbortSignal.timeout(socketsMs)
        await useSockets({ port, person: demand(account), count, callOf: call, signal })
        return `${count} sockets`
      }),
    },
  ]),
])

function isBatch(operation: OperationId): boolean {
  return operation === 'pushChanges' || operation === 'importBookmarks'
}

/** Sends the calls at once. Resolves with how many got which status, such as `30 x 200, 2 x 429`. */
async function callTimes(
  target: AttackTarget,
  operation: OperationId,
  prepare: (caller: HostileCaller, number: number) => HostileCall | Promise<HostileCall>,
  times: number,
): Promise<string> {
  const account = demand(target.account)
  const call = async (id: OperationId, one: HostileCall = {}) => JSON.parse((await sendCall(target, id, one)).text)
  const caller = { account, call }
  const calls = await Promise.all(Array.from({ length: times }, async (_, number) => prepare(caller, number)))
  const answers = await Promise.all(
    calls.map((one) =>
      sendCall(target, operation, one).then(
        ({ status }) => status,
        () => 'none',
      ),
    ),
  )
  const counts = [...Map.groupBy(answers, (status) => status)].map(([status, own]) => `${own.length} x ${status}`)
  return counts.join(', ')
}

function sendCall(
  target: AttackTarget,
  operation: OperationId,
  { id = 'id', query = '', headers = {}, body }: HostileCall,
) {
  return send(target, {
    operation,
    path: operations[operation].path.replace('{id}', id) + query,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  })
}

function demand(account: FilledAccount | undefined): FilledAccount {
  if (!account) throw new Error('the row has no account')
  return account
}
