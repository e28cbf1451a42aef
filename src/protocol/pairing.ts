/** How long a message of a pairing is kept, and a code is shown. */
export const pairingMs = 120_000
