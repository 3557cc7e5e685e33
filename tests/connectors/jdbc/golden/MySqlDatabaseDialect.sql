CREATE TABLE `sales`.`orders` (
`id` BIGINT NOT NULL,
`na"me` VARCHAR(256) NOT NULL,
`int8` TINYINT NULL,
`int16` SMALLINT NULL,
`int32` INT NULL,
`int64` BIGINT NULL,
`float32` FLOAT NULL,
`float64` DOUBLE NULL,
`boolean` TINYINT NULL,
`string` TEXT NULL,
`bytes` VARBINARY(1024) NULL,
`decimal` DECIMAL(65,2) NULL,
`date` DATE NULL,
`time` TIME(3) NULL,
`timestamp` DATETIME(3) NULL,
`micros` DATETIME(6) NULL,
`nanos` DATETIME(6) NULL,
`int8_d` TINYINT DEFAULT 7,
`int16_d` SMALLINT DEFAULT 7,
`int32_d` INT DEFAULT 7,
`int64_d` BIGINT DEFAULT 7,
`float32_d` FLOAT DEFAULT 7,
`float64_d` DOUBLE DEFAULT 7,
`boolean_d` TINYINT DEFAULT 1,
`string_d` TEXT DEFAULT ('it''s'),
`bytes_d` VARBINARY(1024) DEFAULT X'00ff',
`decimal_d` DECIMAL(65,2) DEFAULT -1.50,
`date_d` DATE DEFAULT '2026-11-22',
`time_d` TIME(3) DEFAULT '13:14:15.678',
`timestamp_d` DATETIME(3) DEFAULT '2026-11-22 13:14:15.678',
`micros_d` DATETIME(6) DEFAULT '2026-11-22 13:14:15.678901',
`nanos_d` DATETIME(6) DEFAULT '2026-11-22 13:14:15.678901',
PRIMARY KEY(`id`,`na"me`))

CREATE TABLE `sales`.`orders` (
`b` TEXT NULL,
`c` INT NOT NULL)

ALTER TABLE `sales`.`orders`
ADD `b` TEXT NULL,
ADD `int8_d` TINYINT DEFAULT 7

-- insert: id, na"me, b, c
INSERT INTO `sales`.`orders` (`id`,`na"me`,`b`,`c`) VALUES (?,?,?,?)

-- upsert: id, na"me, b, c
INSERT INTO `sales`.`orders` (`id`,`na"me`,`b`,`c`) VALUES (?,?,?,?) ON DUPLICATE KEY UPDATE `b`=VALUES(`b`),`c`=VALUES(`c`)

-- upsert: id, na"me
INSERT INTO `sales`.`orders` (`id`,`na"me`) VALUES (?,?) ON DUPLICATE KEY UPDATE `id`=VALUES(`id`),`na"me`=VALUES(`na"me`)

-- update: b, c, id, na"me
UPDATE `sales`.`orders` SET `b` = ?, `c` = ? WHERE `id` = ? AND `na"me` = ?

DELETE FROM `sales`.`orders` WHERE `id` = ? AND `na"me` = ?

CREATE TABLE `penstock_batches` (
`sink` VARCHAR(256) NOT NULL,
`topic` VARCHAR(256) NOT NULL,
`part` INT NOT NULL,
`epoch` TEXT NOT NULL,
`batch` BIGINT NOT NULL,
`next_offset` BIGINT NOT NULL,
PRIMARY KEY(`sink`,`topic`,`part`))

SELECT `epoch`, `batch`, `next_offset` FROM `penstock_batches` WHERE `sink` = ? AND `topic` = ? AND `part` = ?

UPDATE `penstock_batches` SET `epoch` = ?, `batch` = ?, `next_offset` = ? WHERE `sink` = ? AND `topic` = ? AND `part` = ? AND `batch` = ? AND `next_offset` = ?

INSERT INTO `penstock_batches` (`epoch`,`batch`,`next_offset`,`sink`,`topic`,`part`) VALUES (?,?,?,?,?,?)

SELECT `epoch`, `batch` FROM `penstock_batches` WHERE `sink` = ? AND `part` >= 0

SELECT `topic`, `part`, `epoch`, `batch`, `next_offset` FROM `penstock_batches` WHERE `sink` = ? AND `part` >= 0

SELECT `next_offset` FROM `penstock_batches` WHERE `sink` = ? AND `topic` = ? AND `part` = ? AND `epoch` = ? LOCK IN SHARE MODE
