CREATE TABLE "sales"."orders" (
"id" BIGINT NOT NULL,
"na""me" VARCHAR(256) NOT NULL,
"int8" SMALLINT,
"int16" SMALLINT,
"int32" INTEGER,
"int64" BIGINT,
"float32" FLOAT,
"float64" DOUBLE,
"boolean" SMALLINT,
"string" VARCHAR(32672),
"bytes" BLOB(64000),
"decimal" DECIMAL(31,2),
"date" DATE,
"time" TIME,
"timestamp" TIMESTAMP,
"micros" TIMESTAMP,
"nanos" TIMESTAMP,
"int8_d" SMALLINT DEFAULT 7,
"int16_d" SMALLINT DEFAULT 7,
"int32_d" INTEGER DEFAULT 7,
"int64_d" BIGINT DEFAULT 7,
"float32_d" FLOAT DEFAULT 7,
"float64_d" DOUBLE DEFAULT 7,
"boolean_d" SMALLINT DEFAULT 1,
"string_d" VARCHAR(32672) DEFAULT 'it''s',
"bytes_d" BLOB(64000) DEFAULT X'00ff',
"decimal_d" DECIMAL(31,2) DEFAULT -1.50,
"date_d" DATE DEFAULT '2026-11-22',
"time_d" TIME DEFAULT '13:14:15',
"timestamp_d" TIMESTAMP DEFAULT '2026-11-22 13:14:15.678',
"micros_d" TIMESTAMP DEFAULT '2026-11-22 13:14:15.678901',
"nanos_d" TIMESTAMP DEFAULT '2026-11-22 13:14:15.678901',
PRIMARY KEY("id","na""me"))

CREATE TABLE "sales"."orders" (
"b" VARCHAR(32672),
"c" INTEGER NOT NULL)

ALTER TABLE "sales"."orders"
ADD "b" VARCHAR(32672)

ALTER TABLE "sales"."orders"
ADD "int8_d" SMALLINT DEFAULT 7

-- insert: id, na"me, b, c
INSERT INTO "sales"."orders" ("id","na""me","b","c") VALUES (?,?,?,?)

-- upsert: id, na"me, b, c, id, na"me, b, c
MERGE INTO "sales"."orders" USING SYSIBM.SYSDUMMY1 ON "sales"."orders"."id" = ? AND "sales"."orders"."na""me" = ? WHEN MATCHED THEN UPDATE SET "b" = ?, "c" = ? WHEN NOT MATCHED THEN INSERT ("id","na""me","b","c") VALUES (?,?,?,?)

-- upsert: id, na"me, id, na"me
MERGE INTO "sales"."orders" USING SYSIBM.SYSDUMMY1 ON "sales"."orders"."id" = ? AND "sales"."orders"."na""me" = ? WHEN NOT MATCHED THEN INSERT ("id","na""me") VALUES (?,?)

-- update: b, c, id, na"me
UPDATE "sales"."orders" SET "b" = ?, "c" = ? WHERE "id" = ? AND "na""me" = ?

DELETE FROM "sales"."orders" WHERE "id" = ? AND "na""me" = ?

CREATE TABLE "penstock_batches" (
"sink" VARCHAR(256) NOT NULL,
"topic" VARCHAR(256) NOT NULL,
"part" INTEGER NOT NULL,
"epoch" VARCHAR(32672) NOT NULL,
"batch" BIGINT NOT NULL,
"next_offset" BIGINT NOT NULL,
PRIMARY KEY("sink","topic","part"))

SELECT "epoch", "batch", "next_offset" FROM "penstock_batches" WHERE "sink" = ? AND "topic" = ? AND "part" = ?

UPDATE "penstock_batches" SET "epoch" = ?, "batch" = ?, "next_offset" = ? WHERE "sink" = ? AND "topic" = ? AND "part" = ? AND "batch" = ? AND "next_offset" = ?

INSERT INTO "penstock_batches" ("epoch","batch","next_offset","sink","topic","part") VALUES (?,?,?,?,?,?)

SELECT "epoch", "batch" FROM "penstock_batches" WHERE "sink" = ? AND "part" >= 0

SELECT "topic", "part", "epoch", "batch", "next_offset" FROM "penstock_batches" WHERE "sink" = ? AND "part" >= 0

UPDATE "penstock_batches" SET "next_offset" = "next_offset" WHERE "sink" = ? AND "topic" = ? AND "part" = ? AND "epoch" = ?
