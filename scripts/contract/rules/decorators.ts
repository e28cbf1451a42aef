/**
 * Redocly takes a message for one that both sides send as soon as its channel has operations both ways. Without the way from
 * the operation to the channel, a message belongs to the operations that list it.
 */
export function operationsNameTheirChannel() {
  return {
    Operation: {
      leave(operation: { channel?: { $ref: string }; 'x-channel'?: string }) {
        if (operation.channel) operation['x-channel'] = operation.channel.$ref
        delete operation.channel
      },
    },
  }
}
