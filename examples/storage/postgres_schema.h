/* The tables and functions of the storage in PostgreSQL: postgres.c says what they are for. */
#ifndef TIDELINE_POSTGRES_SCHEMA_H
#define TIDELINE_POSTGRES_SCHEMA_H

/* The tables, and who holds what. */
static const char tl_schema_leases[] =
    "SELECT pg_advisory_xact_lock(7447);"
    "CREATE SEQUENCE IF NOT EXISTS tl_fence;"
    "CREATE TABLE IF NOT EXISTS tl_name(name bytea PRIMARY KEY, fence bigint NOT NULL);"
    "CREATE TABLE IF NOT EXISTS tl_holder(holder bigint PRIMARY KEY, syncs bigint NOT NULL);"
    "CREATE TABLE IF NOT EXISTS tl_object(name bytea, object int, size bigint NOT NULL,"
    " fence bigint NOT NULL, PRIMARY KEY(name, object));"
    "CREATE TABLE IF NOT EXISTS tl_block(name bytea, object int, block bigint,"
    " bytes bytea NOT NULL, PRIMARY KEY(name, object, block));"
    "ALTER TABLE tl_name ADD COLUMN IF NOT EXISTS holder bigint NOT NULL DEFAULT 0;"
    "ALTER TABLE tl_object DROP COLUMN IF EXISTS syncs;"
    "ALTER TABLE tl_block ALTER bytes SET STORAGE PLAIN;"
    /* The number of this connection. */
    "CREATE OR REPLACE FUNCTION tl_me() RETURNS bigint AS $$"
    " DECLARE me text := current_setting('tl.holder', true); BEGIN"
    " IF coalesce(me, '') = '' THEN RAISE EXCEPTION 'not joined' USING ERRCODE = '08003'; END IF;"
    " RETURN me::bigint; END $$ LANGUAGE plpgsql STABLE;"
    /* Makes all that was committed so far durable. */
    "CREATE OR REPLACE FUNCTION tl_flush() RETURNS bigint AS $$ DECLARE done bigint; BEGIN"
    " PERFORM set_config('synchronous_commit', 'on', true);"
    " UPDATE tl_holder SET syncs = syncs + 1 WHERE holder = tl_me() RETURNING syncs INTO done;"
    " RETURN done; END $$ LANGUAGE plpgsql;"
    /* Puts `mine` in the place of `was` and of the tries since, or begins with a new number. */
    "CREATE OR REPLACE FUNCTION tl_join(was bigint, known bigint, mine bigint)"
    " RETURNS bigint AS $$ BEGIN"
    " PERFORM set_config('synchronous_commit', 'on', true);"
    " IF was = 0 THEN mine := nextval('tl_fence') << 24;"
    " ELSIF NOT EXISTS(SELECT FROM tl_holder WHERE holder = was AND syncs >= known) THEN"
    "  RAISE EXCEPTION 'this server lacks what was synced' USING ERRCODE = 'TL002'; END IF;"
    " INSERT INTO tl_holder VALUES(mine, 0);"
    " UPDATE tl_name SET holder = mine WHERE was > 0 AND holder >= was AND holder < mine;"
    " DELETE FROM tl_holder WHERE holder >= was >> 24 << 24 AND holder < was;"
    " PERFORM set_config('tl.holder', mine::text, false);"
    " RETURN mine; END $$ LANGUAGE plpgsql;";

/* What calls do. */
static const char tl_schema_calls[] =
    "SELECT pg_advisory_xact_lock(7447);"
    /* Refuses every number but the newest, and keeps it the newest until the transaction ends. */
    "CREATE OR REPLACE FUNCTION tl_hold(n bytea, f bigint) RETURNS void AS $$ BEGIN"
    " PERFORM 1 FROM tl_name WHERE name = n AND fence = f AND holder = tl_me() FOR SHARE;"
    " IF NOT FOUND THEN RAISE EXCEPTION 'lost' USING ERRCODE = 'TL001'; END IF;"
    " END $$ LANGUAGE plpgsql;"
    "CREATE OR REPLACE FUNCTION tl_acquire(n bytea) RETURNS bigint AS $$ DECLARE f bigint; BEGIN"
    " PERFORM set_config('synchronous_commit', 'on', true);"
    " INSERT INTO tl_name(name, fence) VALUES(n, 0) ON CONFLICT DO NOTHING;"
    " PERFORM 1 FROM tl_name WHERE name = n FOR UPDATE;"
    " UPDATE tl_name SET fence = nextval('tl_fence'), holder = tl_me()"
    "  WHERE name = n RETURNING fence INTO f;"
    " RETURN f; END $$ LANGUAGE plpgsql;"
    "CREATE OR REPLACE FUNCTION tl_grow(n bytea, f bigint, o int, s bigint) RETURNS void AS $$"
    " INSERT INTO tl_object VALUES(n, o, s, f) ON CONFLICT (name, object)"
    " DO UPDATE SET size = greatest(tl_object.size, s), fence = f"
    " WHERE tl_object.size < s OR tl_object.fence <> f $$ LANGUAGE sql;"
    "CREATE OR REPLACE FUNCTION tl_write(n bytea, f bigint, o int, at bigint, d bytea)"
    " RETURNS void AS $$ DECLARE done bigint := 0; b bigint; inside int; part int; BEGIN"
    " PERFORM tl_hold(n, f);"
    " WHILE done < length(d) LOOP"
    "  b := (at + done) / 4096; inside := (at + done) % 4096;"
    "  part := least(4096 - inside, length(d) - done);"
    "  IF part = 4096 THEN"
    "   INSERT INTO tl_block VALUES(n, o, b, substring(d FROM (done + 1)::int FOR 4096))"
    "    ON CONFLICT (name, object, block) DO UPDATE SET bytes = EXCLUDED.bytes;"
    "  ELSE"
    "   INSERT INTO tl_block VALUES(n, o, b, overlay(decode(repeat('00', 4096), 'hex')"
    "     PLACING substring(d FROM (done + 1)::int FOR part) FROM inside + 1))"
    "    ON CONFLICT (name, object, block) DO UPDATE SET bytes = overlay(tl_block.bytes"
    "     PLACING substring(d FROM (done + 1)::int FOR part) FROM inside + 1);"
    "  END IF;"
    "  done := done + part;"
    " END LOOP;"
    " PERFORM tl_grow(n, f, o, at + length(d)); END $$ LANGUAGE plpgsql;"
    "CREATE OR REPLACE FUNCTION tl_truncate(n bytea, f bigint, o int, s bigint)"
    " RETURNS void AS $$ DECLARE inside int := s % 4096; BEGIN"
    " PERFORM tl_hold(n, f);"
    " DELETE FROM tl_block WHERE name = n AND object = o AND block >= (s + 4095) / 4096;"
    " IF inside > 0 THEN UPDATE tl_block SET bytes = overlay(bytes"
    "   PLACING decode(repeat('00', 4096 - inside), 'hex') FROM inside + 1)"
    "  WHERE name = n AND object = o AND block = s / 4096; END IF;"
    " PERFORM tl_grow(n, f, o, s);"
    " UPDATE tl_object SET size = s WHERE name = n AND object = o; END $$ LANGUAGE plpgsql;"
    "DROP FUNCTION IF EXISTS tl_synced(bytea, bigint, int);"
    "CREATE OR REPLACE FUNCTION tl_synced(n bytea, f bigint) RETURNS bigint AS $$ BEGIN"
    " PERFORM tl_hold(n, f);"
    " RETURN tl_flush(); END $$ LANGUAGE plpgsql;";

/* How each connection is used: a call has an end of its own, whatever the server does. */
static const char tl_settings[] =
    "SET synchronous_commit = off; SET statement_timeout = '8s'; SET lock_timeout = '6s';"
    "SET client_min_messages = warning;";

static const char tl_statements[] =
    "PREPARE tl_join(bigint, bigint, bigint) AS SELECT tl_join($1, $2, $3);"
    "PREPARE tl_acquire(bytea) AS SELECT tl_acquire($1);"
    "PREPARE tl_flush AS SELECT tl_flush();"
    "PREPARE tl_synced(bytea, bigint) AS SELECT tl_synced($1, $2);"
    "PREPARE tl_write(bytea, bigint, int, bigint, bytea) AS SELECT tl_write($1, $2, $3, $4, $5);"
    "PREPARE tl_truncate(bytea, bigint, int, bigint) AS SELECT tl_truncate($1, $2, $3, $4);"
    "PREPARE tl_size(bytea, bigint, int) AS SELECT o.size FROM tl_name n"
    " LEFT JOIN tl_object o ON o.name = n.name AND o.object = $3"
    " WHERE n.name = $1 AND n.fence = $2 AND n.holder = tl_me();"
    "PREPARE tl_read(bytea, bigint, int, bigint, bigint) AS"
    " SELECT o.size, b.block, b.bytes FROM tl_name n"
    " LEFT JOIN tl_object o ON o.name = n.name AND o.object = $3"
    " LEFT JOIN tl_block b ON b.name = n.name AND b.object = $3 AND b.block BETWEEN $4 AND $5"
    " WHERE n.name = $1 AND n.fence = $2 AND n.holder = tl_me();";

#endif
