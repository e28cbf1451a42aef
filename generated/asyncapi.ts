// Written by `npm run generate`. Do not edit.
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * ConnectedMessage
         * @description Connection established.
         */
        ConnectedMessage: {
            /**
             * ConnectedType
             * @description Kind of message.
             * @enum {string}
             */
            type: "connected";
            /**
             * @description The device id that the socket was opened with.
             * @example laptop-7f3a
             */
            deviceId: string;
            /**
             * Format: int64
             * @description The server's time (Unix ms).
             * @example 1763700000000
             */
            timestamp: number;
            epoch: components["schemas"]["Epoch"];
        };
        /**
         * SyncMessage
         * @description A change.
         */
        SyncMessage: {
            /**
             * SyncType
             * @description Kind of message.
             * @enum {string}
             */
            type: "sync";
            event: components["schemas"]["SyncEvent"];
            /**
             * Format: int64
             * @description The change's sequence number (Unix ms), to send as `since` when connecting again.
             * @example 1763700000000
             */
            stamp: number;
            /**
             * Format: int64
             * @description A sequence number below `stamp` (Unix ms), with no change between the two. A client whose cursor is lower has missed a change: it pulls, instead of continuing from `stamp`. Absent in the acknowledgement of a change that the service had before.
             * @example 1763699999000
             */
            previous_stamp?: number;
        };
        /**
         * ChangeMessage
         * @description A change made by the client.
         */
        ChangeMessage: {
            /**
             * ChangeType
             * @description Kind of message.
             * @enum {string}
             */
            type: "sync";
            event: components["schemas"]["Change"];
        };
        /**
         * PingMessage
         * @description Keep-alive.
         */
        PingMessage: {
            /**
             * PingType
             * @description Kind of message.
             * @enum {string}
             */
            type: "ping";
        };
        /**
         * PongMessage
         * @description Reply to a ping.
         */
        PongMessage: {
            /**
             * PongType
             * @description Kind of message.
             * @enum {string}
             */
            type: "pong";
        };
        /**
         * ErrorMessage
         * @description Error report.
         */
        ErrorMessage: {
            /**
             * ErrorType
             * @description Kind of message.
             * @enum {string}
             */
            type: "error";
            /**
             * @description A sentence. For a rejected change, it names the entity.
             * @example bookmark 0199f6a0-1c00-7000-8000-000000000002: Last write wins: the version of 1763700000123 by phone-2c is newer
             */
            error: string;
        };
        /**
         * Format: uuid
         * @description Names the history that the service's cursors belong to. It changes only when the operator has restored a backup, or a failover has lost changes. A client that finds a new epoch pulls from 0 and pushes again what the service has lost.
         * @example 0199f6a0-1c00-7000-8000-000000000006
         */
        Epoch: string;
        /**
         * EntityType
         * @description Kind of entity.
         * @example bookmark
         * @enum {string}
         */
        EntityType: "bookmark" | "history" | "group";
        /**
         * Operation
         * @description What the change does. Create and update are treated the same.
         * @example update
         * @enum {string}
         */
        Operation: "create" | "update" | "delete";
        /**
         * @description 1 to 128 printable ASCII characters, but neither `.` nor `..`, because neither can be a part of a URL's path. Prefer letters, digits, `-`, `_`, `.` and `~`, which a path does not have to encode (RFC 3986, section 2.3).
         * @example 0199f6a0-1c00-7000-8000-000000000002
         */
        Id: string;
        /**
         * Format: int64
         * @description Unix time in ms.
         * @example 1763700000000
         */
        Milliseconds: number;
        /**
         * OverwrittenVersion
         * @description A version that was replaced without having been seen, by the device that made it and its time.
         */
        OverwrittenVersion: {
            device_id: components["schemas"]["Id"];
            timestamp: components["schemas"]["Milliseconds"];
            /**
             * @description True if the change that replaced it is a create, or if its device had seen no version of the entity, or had not seen an earlier version by another device, either. Then content from before this version may be lost, too. Absent otherwise.
             * @example true
             */
            made_on_unseen?: boolean;
        };
        /**
         * @description The `epoch` in which the service had stored the version.
         * @example 0199f6a0-1c00-7000-8000-000000000005
         */
        LostEpoch: string;
        /**
         * RecoveredVersion
         * @description A version that the service had lost, and that a device has sent again: this change, or one that it was made on. A device whose last version in that `epoch` is older knows that it was replaced there, and not only now.
         */
        RecoveredVersion: {
            epoch: components["schemas"]["LostEpoch"];
            timestamp: components["schemas"]["Milliseconds"];
        };
        /**
         * SyncEvent
         * @description The newest change of an entity, as stored by the server.
         */
        SyncEvent: {
            /**
             * @description Unique sync event id.
             * @example 0199f6a0-1c00-7000-8000-000000000003
             */
            id: string;
            /**
             * @description User who made the change.
             * @example 0199f6a0-1c00-7000-8000-000000000001
             */
            user_id: string;
            entity_type: components["schemas"]["EntityType"];
            /**
             * @description Affected entity id.
             * @example 0199f6a0-1c00-7000-8000-000000000002
             */
            entity_id: string;
            operation: components["schemas"]["Operation"];
            /**
             * Format: int64
             * @description When the change occurred (Unix ms, the device's clock).
             * @example 1763700000000
             */
            timestamp: number;
            /**
             * @description Device that made the change.
             * @example laptop-7f3a
             */
            device_id: string;
            /**
             * @description Encrypted data; present for create and update.
             * @example AWVuY3J5cHRlZA==
             */
            encrypted_data?: string;
            /**
             * @description Integrity hash; missing if the entity has only deletes without one.
             * @example e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
             */
            data_hash?: string;
            /**
             * @description Whether this event resolved a conflict.
             * @example true
             */
            conflict_resolved: boolean;
            /**
             * @description How the conflict was resolved: `device_id` if the timestamps were equal, `last_write_wins` if the change overwrote a version that its device had not seen; null if there was no conflict.
             * @example last_write_wins
             */
            resolution_strategy: string | null;
            /**
             * @description Versions of the entity that this change, or an earlier one, replaced although its device had not seen them: the last version of each device, newest last. A device that finds its own last version here knows that its edit was overwritten, and can still merge it. Absent if there are none. The oldest are left out of a list of more than 1,700 characters, which device ids of more than 36 characters can cause.
             * @example [
             *       {
             *         "device_id": "phone-2c",
             *         "timestamp": 1763699999000
             *       }
             *     ]
             */
            overwritten?: components["schemas"]["OverwrittenVersion"][];
            recovered?: components["schemas"]["RecoveredVersion"];
        };
        /**
         * @description The encrypted bookmark, as printable ASCII text. Opaque to the server, which never decodes it; the client package writes Base64.
         * @example AWVuY3J5cHRlZA==
         */
        EncryptedData: string;
        /**
         * @description SHA-256 of the plaintext that was encrypted. Opaque to the server; the client package writes lower-case hex.
         * @example e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
         */
        DataHash: string;
        /**
         * Change
         * @description A change made by a device. The server sets `conflict_resolved` and `resolution_strategy` of a sync event; in a change, they may be present, and are ignored. A create or an update needs `encrypted_data` and `data_hash`; a delete needs neither.
         */
        Change: {
            id: components["schemas"]["Id"];
            /**
             * @description The user who made the change. The default is the session's user; another user's change is rejected.
             * @example 0199f6a0-1c00-7000-8000-000000000001
             */
            user_id?: string;
            entity_type: components["schemas"]["EntityType"];
            entity_id: components["schemas"]["Id"];
            operation: components["schemas"]["Operation"];
            timestamp: components["schemas"]["Milliseconds"];
            device_id: components["schemas"]["Id"];
            encrypted_data?: components["schemas"]["EncryptedData"];
            data_hash?: components["schemas"]["DataHash"];
            /**
             * Format: int64
             * @description The device's cursor (Unix ms) when the edit was made. A change that overwrites another device's version with a greater sequence number is marked as a resolved conflict. The default is the cursor that the last pull of `device_id` returned, or 0 if that device has never pulled. Above the user's last sequence number it counts as 0.
             * @example 1763699990000
             */
            base?: number;
            /**
             * IfUnseen
             * @description What the service does with a change that would overwrite another device's version with a sequence number above `base`. `overwrite`, the default, stores it. `reject` reports it in `conflicts` and does not store it, so that its device can pull that version first and merge the two. A change that is rejected only for this reason is not among the conflicts of `listConflicts`.
             * @example reject
             * @enum {string}
             */
            if_unseen?: "overwrite" | "reject";
            /**
             * Format: int64
             * @description The device's cursor (Unix ms) when the edit was last merged with the versions of other devices. With `if_unseen: reject`, the change overwrites a version above `base` if its sequence number is not above `merged_up_to`. If the stored version is later, the change is rejected, so that its device can merge that version, too. The default is `base`. Above the user's last sequence number it counts as 0.
             * @example 1763699995000
             */
            merged_up_to?: number;
            /**
             * @description The `id` of the newest version of the entity that the device knew, null if it knew none. Another version of `device_id` was made by a copy of the device's store, and counts as another device's. Without `made_on`, the device counts as having seen all versions of its own id.
             * @example 0199f6a0-1c00-7000-8000-000000000003
             */
            made_on?: string | null;
            /**
             * @description For a version that the service has lost, and that a device sends again: the `overwritten` that the service had sent with it. Without it, the devices named there would not learn that their versions were replaced.
             * @example [
             *       {
             *         "device_id": "phone-2c",
             *         "timestamp": 1763699999000
             *       }
             *     ]
             */
            overwritten?: components["schemas"]["OverwrittenVersion"][];
            recovered?: components["schemas"]["RecoveredVersion"];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
