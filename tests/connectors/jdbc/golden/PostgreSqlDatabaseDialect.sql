CREATE TABLE "sales"."orders" (
"id" BIGINT NOT NULL,
"na""me" TEXT NOT NULL,
"int8" SMALLINT NULL,
"int16" SMALLINT NULL,
"int32" INT NULL,
"int64" BIGINT NULL,
"float32" REAL NULL,
"float64" DOUBLE PRECISION NULL,
"boolean" BOOLEAN NULL,
"string" TEXT NULL,
"bytes" BYTEA NULL,
"decimal" DECIMAL NULL,
"date" DATE NULL,
"time" TIME NULL,
"timestamp" TIMESTAMP NULL,
"micros" TIMESTAMP NULL,
"nanos" TIMESTAMP NULL,
"int8_d" SMALLINT DEFAULT 7,
"int16_d" SMALLINT DEFAULT 7,
"int32_d" INT DEFAULT 7,
"int64_d" BIGINT DEFAULT 7,
"float32_d" REAL DEFAULT 7,
"float64_d" DOUBLE PRECISION DEFAULT 7,
"boolean_d" BOOLEAN DEFAULT TRUE,
"string_d" TEXT DEFAULT 'it''s',
"bytes_d" BYTEA DEFAULT '\x00ff',
"decimal_d" DECIMAL DEFAULT -1.50,
"date_d" DATE DEFAULT '2026-11-22',
"time_d" TIME DEFAULT '13:14:15.678',
"timestamp_d" TIMESTAMP DEFAULT '2026-11-22 13:14:15.678',
"micros_d" TIMESTAMP DEFAULT '2026-11-22 13:14:15.678901',
"nanos_d" TIMESTAMP DEFAULT '2026-11-22 13:14:15.678901',
PRIMARY KEY("id","na""me"))

CREATE TABLE "sales"."orders" (
"b" TEXT NULL,
"c" INT NOT NULL)

ALTER TABLE "sales"."orders"
ADD "b" TEXT NULL,
ADD "int8_d" SMALLINT DEFAULT 7

-- insert: id, na"me, b, c
INSERT INTO "sales"."orders" ("id","na""me","b","c") VALUES (?,?,?,?)

-- upsert: id, na"me, b, c
INSERT INTO "sales"."orders" ("id","na""me","b","c") VALUES (?,?,?,?) ON CONFLICT ("id","na""me") DO UPDATE SET "b"=EXCLUDED."b","c"=EXCLUDED."c"

-- upsert: id, na"me
INSERT INTO "sales"."orders" ("id","na""me") VALUES (?,?) ON CONFLICT ("id","na""me") DO NOTHING

-- update: b, c, id, na"me
UPDATE "sales"."orders" SET "b" = ?, "c" = ? WHERE "id" = ? AND "na""me" = ?

DELETE FROM "sales"."orders" WHERE "id" = ? AND "na""me" = ?

CREATE TABLE "penstock_batches" (
"sink" TEXT NOT NULL,
"topic" TEXT NOT NULL,
"part" INT NOT NULL,
"epoch" TEXT NOT NULL,
"batch" BIGINT NOT NULL,
"next_offset" BIGINT NOT NULL,
PRIMARY KEY("sink","topic","part"))

SELECT "epoch", "batch", "next_offset" FROM "penstock_batches" WHERE "sink" = ? AND "topic" = ? AND "part" = ?

UPDATE "penstock_batches" SET "epoch" = ?, "batch" = ?, "next_offset" = ? WHERE "sink" = ? AND "topic" = ? AND "part" = ? AND "batch" = ? AND "next_offset" = ?

INSERT INTO "penstock_batches" ("epoch","batch","next_offset","sink","topic","part") VALUES (?,?,?,?,?,?)

SELECT "epoch", "batch" FROM "penstock_batches" WHERE "sink" = ? AND "part" >= 0

SELECT "topic", "part", "epoch", "batch", "next_offset" FROM "penstock_batches" WHERE "sink" = ? AND "part" >= 0

SELECT "next_offset" FROM "penstock_batches" WHERE "sink" = ? AND "topic" = ? AND "part" = ? AND "epoch" = ? FOR SHARE
