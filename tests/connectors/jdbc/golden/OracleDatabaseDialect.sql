CREATE TABLE "sales"."orders" (
"id" NUMBER(19,0) NOT NULL,
"na""me" NVARCHAR2(255) NOT NULL,
"int8" NUMBER(3,0) NULL,
"int16" NUMBER(5,0) NULL,
"int32" NUMBER(10,0) NULL,
"int64" NUMBER(19,0) NULL,
"float32" BINARY_FLOAT NULL,
"float64" BINARY_DOUBLE NULL,
"boolean" NUMBER(1,0) NULL,
"string" VARCHAR2(4000) NULL,
"bytes" BLOB NULL,
"decimal" NUMBER(*,2) NULL,
"date" DATE NULL,
"time" DATE NULL,
"timestamp" TIMESTAMP NULL,
"micros" TIMESTAMP(6) NULL,
"nanos" TIMESTAMP(9) NULL,
"int8_d" NUMBER(3,0) DEFAULT 7,
"int16_d" NUMBER(5,0) DEFAULT 7,
"int32_d" NUMBER(10,0) DEFAULT 7,
"int64_d" NUMBER(19,0) DEFAULT 7,
"float32_d" BINARY_FLOAT DEFAULT 7,
"float64_d" BINARY_DOUBLE DEFAULT 7,
"boolean_d" NUMBER(1,0) DEFAULT 1,
"string_d" VARCHAR2(4000) DEFAULT 'it''s',
"bytes_d" BLOB DEFAULT HEXTORAW('00ff'),
"decimal_d" NUMBER(*,2) DEFAULT -1.50,
"date_d" DATE DEFAULT DATE '2026-11-22',
"time_d" DATE DEFAULT TO_DATE('1970-01-01 13:14:15', 'YYYY-MM-DD HH24:MI:SS'),
"timestamp_d" TIMESTAMP DEFAULT TIMESTAMP '2026-11-22 13:14:15.678',
"micros_d" TIMESTAMP(6) DEFAULT TIMESTAMP '2026-11-22 13:14:15.678901',
"nanos_d" TIMESTAMP(9) DEFAULT TIMESTAMP '2026-11-22 13:14:15.678901',
PRIMARY KEY("id","na""me"))

CREATE TABLE "sales"."orders" (
"b" VARCHAR2(4000) NULL,
"c" NUMBER(10,0) NOT NULL)

ALTER TABLE "sales"."orders" ADD (
"b" VARCHAR2(4000) NULL,
"int8_d" NUMBER(3,0) DEFAULT 7)

-- insert: id, na"me, b, c
INSERT INTO "sales"."orders" ("id","na""me","b","c") VALUES (?,?,?,?)

-- upsert: id, na"me, b, c
MERGE INTO "sales"."orders" USING (SELECT ? "id", ? "na""me", ? "b", ? "c" FROM dual) incoming ON ("sales"."orders"."id"=incoming."id" AND "sales"."orders"."na""me"=incoming."na""me") WHEN MATCHED THEN UPDATE SET "b"=incoming."b","c"=incoming."c" WHEN NOT MATCHED THEN INSERT ("b","c","id","na""me") VALUES (incoming."b",incoming."c",incoming."id",incoming."na""me")

-- upsert: id, na"me
MERGE INTO "sales"."orders" USING (SELECT ? "id", ? "na""me" FROM dual) incoming ON ("sales"."orders"."id"=incoming."id" AND "sales"."orders"."na""me"=incoming."na""me") WHEN NOT MATCHED THEN INSERT ("id","na""me") VALUES (incoming."id",incoming."na""me")

-- update: b, c, id, na"me
UPDATE "sales"."orders" SET "b" = ?, "c" = ? WHERE "id" = ? AND "na""me" = ?

DELETE FROM "sales"."orders" WHERE "id" = ? AND "na""me" = ?

CREATE TABLE "penstock_batches" (
"sink" NVARCHAR2(255) NOT NULL,
"topic" NVARCHAR2(255) NOT NULL,
"part" NUMBER(10,0) NOT NULL,
"epoch" VARCHAR2(4000) NOT NULL,
"batch" NUMBER(19,0) NOT NULL,
"next_offset" NUMBER(19,0) NOT NULL,
PRIMARY KEY("sink","topic","part"))

SELECT "epoch", "batch", "next_offset" FROM "penstock_batches" WHERE "sink" = ? AND "topic" = ? AND "part" = ?

UPDATE "penstock_batches" SET "epoch" = ?, "batch" = ?, "next_offset" = ? WHERE "sink" = ? AND "topic" = ? AND "part" = ? AND "batch" = ? AND "next_offset" = ?

INSERT INTO "penstock_batches" ("epoch","batch","next_offset","sink","topic","part") VALUES (?,?,?,?,?,?)

SELECT "epoch", "batch" FROM "penstock_batches" WHERE "sink" = ? AND "part" >= 0

SELECT "topic", "part", "epoch", "batch", "next_offset" FROM "penstock_batches" WHERE "sink" = ? AND "part" >= 0

UPDATE "penstock_batches" SET "next_offset" = "next_offset" WHERE "sink" = ? AND "topic" = ? AND "part" = ? AND "epoch" = ?
