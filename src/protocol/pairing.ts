/** How many ms a code is valid, and how many ms the service keeps a message of a pairing. */
export const pairingMs: number = 120_000

/** How many ms a scanned code stays valid while the new device's user signs in: as long as a sign-in may take. */
export const reservedMs: number = 600_000
