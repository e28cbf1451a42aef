-- Second of two steps from one Postgres to Citus, on its coordinator, after keys.sql.

select create_reference_table('epoch');
select create_reference_table('heartbeat');
select create_reference_table('identities');
select create_distributed_table('used_nonces', 'nonce', colocate_with => 'none');

select create_distributed_table('users', 'id');
select create_distributed_table('deletions', 'user_id', colocate_with => 'users');
select create_distributed_table('logins', 'user_id', colocate_with => 'users');
select create_distributed_table('tokens', 'user_id', colocate_with => 'users');
select create_distributed_table('records', 'user_id', colocate_with => 'users');
select create_distributed_table('ciphertexts', 'user_id', colocate_with => 'users');
select create_distributed_table('versions', 'user_id', colocate_with => 'users');
select create_distributed_table('devices', 'user_id', colocate_with => 'users');
select create_distributed_table('rejections', 'user_id', colocate_with => 'users');
select create_distributed_table('exports', 'user_id', colocate_with => 'users');
select create_distributed_table('keyrings', 'user_id', colocate_with => 'users');
select create_distributed_table('keyring_versions', 'user_id', colocate_with => 'users');
select create_distributed_table('pairings', 'user_id', colocate_with => 'users');
