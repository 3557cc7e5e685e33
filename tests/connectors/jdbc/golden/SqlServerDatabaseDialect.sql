CREATE TABLE [sales].[orders] (
[id] BIGINT NOT NULL,
[na"me] VARCHAR(900) NOT NULL,
[int8] SMALLINT NULL,
[int16] SMALLINT NULL,
[int32] INT NULL,
[int64] BIGINT NULL,
[float32] REAL NULL,
[float64] FLOAT NULL,
[boolean] BIT NULL,
[string] VARCHAR(MAX) NULL,
[bytes] VARBINARY(MAX) NULL,
[decimal] DECIMAL(38,2) NULL,
[date] DATE NULL,
[time] TIME NULL,
[timestamp] DATETIME2 NULL,
[micros] DATETIME2 NULL,
[nanos] DATETIME2 NULL,
[int8_d] SMALLINT DEFAULT 7,
[int16_d] SMALLINT DEFAULT 7,
[int32_d] INT DEFAULT 7,
[int64_d] BIGINT DEFAULT 7,
[float32_d] REAL DEFAULT 7,
[float64_d] FLOAT DEFAULT 7,
[boolean_d] BIT DEFAULT 1,
[string_d] VARCHAR(MAX) DEFAULT 'it''s',
[bytes_d] VARBINARY(MAX) DEFAULT 0x00ff,
[decimal_d] DECIMAL(38,2) DEFAULT -1.50,
[date_d] DATE DEFAULT '2026-11-22',
[time_d] TIME DEFAULT '13:14:15.678',
[timestamp_d] DATETIME2 DEFAULT '2026-11-22 13:14:15.678',
[micros_d] DATETIME2 DEFAULT '2026-11-22 13:14:15.678901',
[nanos_d] DATETIME2 DEFAULT '2026-11-22 13:14:15.678901',
PRIMARY KEY([id],[na"me]))

CREATE TABLE [sales].[orders] (
[b] VARCHAR(MAX) NULL,
[c] INT NOT NULL)

ALTER TABLE [sales].[orders] ADD
[b] VARCHAR(MAX) NULL,
[int8_d] SMALLINT DEFAULT 7

-- insert: id, na"me, b, c
INSERT INTO [sales].[orders] ([id],[na"me],[b],[c]) VALUES (?,?,?,?)

-- upsert: id, na"me, b, c
MERGE INTO [sales].[orders] WITH (HOLDLOCK) AS target USING (SELECT ? AS [id],? AS [na"me],? AS [b],? AS [c]) AS incoming ON (target.[id]=incoming.[id] AND target.[na"me]=incoming.[na"me]) WHEN MATCHED THEN UPDATE SET [b]=incoming.[b],[c]=incoming.[c] WHEN NOT MATCHED THEN INSERT ([b],[c],[id],[na"me]) VALUES (incoming.[b],incoming.[c],incoming.[id],incoming.[na"me]);

-- upsert: id, na"me
MERGE INTO [sales].[orders] WITH (HOLDLOCK) AS target USING (SELECT ? AS [id],? AS [na"me]) AS incoming ON (target.[id]=incoming.[id] AND target.[na"me]=incoming.[na"me]) WHEN NOT MATCHED THEN INSERT ([id],[na"me]) VALUES (incoming.[id],incoming.[na"me]);

-- update: b, c, id, na"me
UPDATE [sales].[orders] SET [b] = ?, [c] = ? WHERE [id] = ? AND [na"me] = ?

DELETE FROM [sales].[orders] WHERE [id] = ? AND [na"me] = ?

CREATE TABLE [penstock_batches] (
[sink] VARCHAR(900) NOT NULL,
[topic] VARCHAR(900) NOT NULL,
[part] INT NOT NULL,
[epoch] VARCHAR(MAX) NOT NULL,
[batch] BIGINT NOT NULL,
[next_offset] BIGINT NOT NULL,
PRIMARY KEY([sink],[topic],[part]))

SELECT [epoch], [batch], [next_offset] FROM [penstock_batches] WHERE [sink] = ? AND [topic] = ? AND [part] = ?

UPDATE [penstock_batches] SET [epoch] = ?, [batch] = ?, [next_offset] = ? WHERE [sink] = ? AND [topic] = ? AND [part] = ? AND [batch] = ? AND [next_offset] = ?

INSERT INTO [penstock_batches] ([epoch],[batch],[next_offset],[sink],[topic],[part]) VALUES (?,?,?,?,?,?)

SELECT [epoch], [batch] FROM [penstock_batches] WHERE [sink] = ? AND [part] >= 0

SELECT [topic], [part], [epoch], [batch], [next_offset] FROM [penstock_batches] WHERE [sink] = ? AND [part] >= 0

UPDATE [penstock_batches] SET [next_offset] = [next_offset] WHERE [sink] = ? AND [topic] = ? AND [part] = ? AND [epoch] = ?
