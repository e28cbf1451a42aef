/** How long a code is shown, and how long a message of a pairing is kept (ms). */
export const pairingMs: number = 120_000

/** How long a scanned code waits while the phone's user signs in (ms): as long as a sign-in may take. */
export const reservedMs: number = 600_000
