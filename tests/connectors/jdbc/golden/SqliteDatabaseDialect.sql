CREATE TABLE "sales"."orders" (
"id" INTEGER NOT NULL,
"na""me" TEXT NOT NULL,
"int8" INTEGER NULL,
"int16" INTEGER NULL,
"int32" INTEGER NULL,
"int64" INTEGER NULL,
"float32" REAL NULL,
"float64" REAL NULL,
"boolean" INTEGER NULL,
"string" TEXT NULL,
"bytes" BLOB NULL,
"decimal" NUMERIC NULL,
"date" NUMERIC NULL,
"time" NUMERIC NULL,
"timestamp" NUMERIC NULL,
"micros" NUMERIC NULL,
"nanos" NUMERIC NULL,
"int8_d" INTEGER DEFAULT 7,
"int16_d" INTEGER DEFAULT 7,
"int32_d" INTEGER DEFAULT 7,
"int64_d" INTEGER DEFAULT 7,
"float32_d" REAL DEFAULT 7,
"float64_d" REAL DEFAULT 7,
"boolean_d" INTEGER DEFAULT 1,
"string_d" TEXT DEFAULT 'it''s',
"bytes_d" BLOB DEFAULT X'00ff',
"decimal_d" NUMERIC DEFAULT -1.50,
"date_d" NUMERIC DEFAULT '2026-11-22',
"time_d" NUMERIC DEFAULT '13:14:15.678',
"timestamp_d" NUMERIC DEFAULT '2026-11-22 13:14:15.678',
"micros_d" NUMERIC DEFAULT '2026-11-22 13:14:15.678901',
"nanos_d" NUMERIC DEFAULT '2026-11-22 13:14:15.678901',
PRIMARY KEY("id","na""me"))

CREATE TABLE "sales"."orders" (
"b" TEXT NULL,
"c" INTEGER NOT NULL)

ALTER TABLE "sales"."orders"
ADD "b" TEXT NULL

ALTER TABLE "sales"."orders"
ADD "int8_d" INTEGER DEFAULT 7

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
"part" INTEGER NOT NULL,
"epoch" TEXT NOT NULL,
"batch" INTEGER NOT NULL,
"next_offset" INTEGER NOT NULL,
PRIMARY KEY("sink","topic","part"))

SELECT "epoch", "batch", "next_offset" FROM "penstock_batches" WHERE "sink" = ? AND "topic" = ? AND "part" = ?

UPDATE "penstock_batches" SET "epoch" = ?, "batch" = ?, "next_offset" = ? WHERE "sink" = ? AND "topic" = ? AND "part" = ? AND "batch" = ? AND "next_offset" = ?

INSERT INTO "penstock_batches" ("epoch","batch","next_offset","sink","topic","part") VALUES (?,?,?,?,?,?)

SELECT "epoch", "batch" FROM "penstock_batches" WHERE "sink" = ? AND "part" >= 0

SELECT "topic", "part", "epoch", "batch", "next_offset" FROM "penstock_batches" WHERE "sink" = ? AND "part" >= 0

SELECT "next_offset" FROM "penstock_batches" WHERE "sink" = ? AND "topic" = ? AND "part" = ? AND "epoch" = ?
