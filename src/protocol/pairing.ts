/** How long a code is shown, and a message of a pairing is kept (ms). */
export const pairingMs: number = 120_000
