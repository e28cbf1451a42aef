/** The signed-in user's device that makes a request. */
export interface Device {
  userId: string
  loginId: string
  /** As in `X-Device-ID`. */
  deviceId: string
}

/** Stands for every device that does not send its id, so nothing is stored about it. */
export const unknownDevice = 'unknown'
