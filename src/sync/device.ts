/** The device that makes a request, of the signed-in user. */
export interface Device {
  userId: string
  /** As in `X-Device-ID`. */
  deviceId: string
}

/** Stands for every device that does not give its id, so nothing is kept of it. */
export const unknownDevice = 'unknown'
