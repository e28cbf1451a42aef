/** How long a code is shown, and a message of a pairing is kept (ms). */
export const pairingMs: number = 120_000

/** How long a code that a phone has scanned waits for its person to sign in (ms): as long as a sign-in may take. */
export const reservedMs: number = 600_000
