-- PostgreSqlDatabaseDialect
-- bulk: 
SELECT * FROM "sales"."or""ders"
-- bulk, by key: 
SELECT MIN("id"), MAX("id"), COUNT(*) FROM "sales"."or""ders"
-- bulk, by key: N200
SELECT * FROM "sales"."or""ders" WHERE "id" <= ? ORDER BY "id" ASC
-- bulk, by key: N200
SELECT * FROM "sales"."or""ders" WHERE "id" > ? ORDER BY "id" ASC
-- incrementing, first: N300
SELECT MIN("id"), MAX("id"), COUNT(*) FROM "sales"."or""ders" WHERE "id" <= ?
-- incrementing, first: N200
SELECT * FROM "sales"."or""ders" WHERE "id" <= ? ORDER BY "id" ASC
-- incrementing, first: N200, N300
SELECT * FROM "sales"."or""ders" WHERE "id" > ? AND "id" <= ? ORDER BY "id" ASC
-- incrementing: N100
SELECT MAX("id") FROM "sales"."or""ders" WHERE "id" > ?
-- incrementing: N100, N300
SELECT MIN("id"), MAX("id"), COUNT(*) FROM "sales"."or""ders" WHERE "id" > ? AND "id" <= ?
-- incrementing: N100, N200
SELECT * FROM "sales"."or""ders" WHERE "id" > ? AND "id" <= ? ORDER BY "id" ASC FOR READ ONLY
-- incrementing: N200, N300
SELECT * FROM "sales"."or""ders" WHERE "id" > ? AND "id" <= ? ORDER BY "id" ASC FOR READ ONLY
-- timestamp: T5.1, T9.0
SELECT MIN("changed"), MAX("changed"), COUNT(*) FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" < ?
-- timestamp: T5.1, T6.0
SELECT * FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" <= ? ORDER BY "changed" ASC
-- timestamp: T6.0, T9.0
SELECT * FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" < ? ORDER BY "changed" ASC
-- timestamps: T0.0, T9.0
SELECT MIN(COALESCE("changed","created")), MAX(COALESCE("changed","created")), COUNT(*) FROM "sales"."or""ders" WHERE COALESCE("changed","created") > ? AND COALESCE("changed","created") < ?
-- timestamps: T0.0, T6.0
SELECT * FROM "sales"."or""ders" WHERE COALESCE("changed","created") > ? AND COALESCE("changed","created") <= ? ORDER BY COALESCE("changed","created") ASC
-- timestamps: T6.0, T9.0
SELECT * FROM "sales"."or""ders" WHERE COALESCE("changed","created") > ? AND COALESCE("changed","created") < ? ORDER BY COALESCE("changed","created") ASC
-- both, first: T0.0, T9.0
SELECT MIN("changed"), MAX("changed"), COUNT(*) FROM "sales"."or""ders" WHERE "changed" >= ? AND "changed" < ? AND "id" IS NOT NULL
-- both, first: T0.0, T6.0
SELECT * FROM "sales"."or""ders" WHERE "changed" >= ? AND "changed" <= ? AND "id" IS NOT NULL ORDER BY "changed" ASC,"id" ASC
-- both, first: T6.0, T9.0
SELECT * FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" < ? AND "id" IS NOT NULL ORDER BY "changed" ASC,"id" ASC
-- both: T5.1, N7, T5.1, T9.0
SELECT MIN("changed"), MAX("changed"), COUNT(*) FROM "sales"."or""ders" WHERE (("changed" = ? AND "id" > ?) OR "changed" > ?) AND "changed" < ? AND "id" IS NOT NULL
-- both: T5.1, N7, T5.1, T6.0
SELECT * FROM "sales"."or""ders" WHERE (("changed" = ? AND "id" > ?) OR "changed" > ?) AND "changed" <= ? AND "id" IS NOT NULL ORDER BY "changed" ASC,"id" ASC
-- both: T6.0, T9.0
SELECT * FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" < ? AND "id" IS NOT NULL ORDER BY "changed" ASC,"id" ASC

-- MySqlDatabaseDialect
-- bulk: 
SELECT * FROM `sales`.`or"ders`
-- bulk, by key: 
SELECT MIN(`id`), MAX(`id`), COUNT(*) FROM `sales`.`or"ders`
-- bulk, by key: N200
SELECT * FROM `sales`.`or"ders` WHERE `id` <= ? ORDER BY `id` ASC
-- bulk, by key: N200
SELECT * FROM `sales`.`or"ders` WHERE `id` > ? ORDER BY `id` ASC
-- incrementing, first: N300
SELECT MIN(`id`), MAX(`id`), COUNT(*) FROM `sales`.`or"ders` WHERE `id` <= ?
-- incrementing, first: N200
SELECT * FROM `sales`.`or"ders` WHERE `id` <= ? ORDER BY `id` ASC
-- incrementing, first: N200, N300
SELECT * FROM `sales`.`or"ders` WHERE `id` > ? AND `id` <= ? ORDER BY `id` ASC
-- incrementing: N100
SELECT MAX(`id`) FROM `sales`.`or"ders` WHERE `id` > ?
-- incrementing: N100, N300
SELECT MIN(`id`), MAX(`id`), COUNT(*) FROM `sales`.`or"ders` WHERE `id` > ? AND `id` <= ?
-- incrementing: N100, N200
SELECT * FROM `sales`.`or"ders` WHERE `id` > ? AND `id` <= ? ORDER BY `id` ASC FOR READ ONLY
-- incrementing: N200, N300
SELECT * FROM `sales`.`or"ders` WHERE `id` > ? AND `id` <= ? ORDER BY `id` ASC FOR READ ONLY
-- timestamp: T5.1, T9.0
SELECT MIN(`changed`), MAX(`changed`), COUNT(*) FROM `sales`.`or"ders` WHERE `changed` > ? AND `changed` < ?
-- timestamp: T5.1, T6.0
SELECT * FROM `sales`.`or"ders` WHERE `changed` > ? AND `changed` <= ? ORDER BY `changed` ASC
-- timestamp: T6.0, T9.0
SELECT * FROM `sales`.`or"ders` WHERE `changed` > ? AND `changed` < ? ORDER BY `changed` ASC
-- timestamps: T0.0, T9.0
SELECT MIN(COALESCE(`changed`,`created`)), MAX(COALESCE(`changed`,`created`)), COUNT(*) FROM `sales`.`or"ders` WHERE COALESCE(`changed`,`created`) > ? AND COALESCE(`changed`,`created`) < ?
-- timestamps: T0.0, T6.0
SELECT * FROM `sales`.`or"ders` WHERE COALESCE(`changed`,`created`) > ? AND COALESCE(`changed`,`created`) <= ? ORDER BY COALESCE(`changed`,`created`) ASC
-- timestamps: T6.0, T9.0
SELECT * FROM `sales`.`or"ders` WHERE COALESCE(`changed`,`created`) > ? AND COALESCE(`changed`,`created`) < ? ORDER BY COALESCE(`changed`,`created`) ASC
-- both, first: T0.0, T9.0
SELECT MIN(`changed`), MAX(`changed`), COUNT(*) FROM `sales`.`or"ders` WHERE `changed` >= ? AND `changed` < ? AND `id` IS NOT NULL
-- both, first: T0.0, T6.0
SELECT * FROM `sales`.`or"ders` WHERE `changed` >= ? AND `changed` <= ? AND `id` IS NOT NULL ORDER BY `changed` ASC,`id` ASC
-- both, first: T6.0, T9.0
SELECT * FROM `sales`.`or"ders` WHERE `changed` > ? AND `changed` < ? AND `id` IS NOT NULL ORDER BY `changed` ASC,`id` ASC
-- both: T5.1, N7, T5.1, T9.0
SELECT MIN(`changed`), MAX(`changed`), COUNT(*) FROM `sales`.`or"ders` WHERE ((`changed` = ? AND `id` > ?) OR `changed` > ?) AND `changed` < ? AND `id` IS NOT NULL
-- both: T5.1, N7, T5.1, T6.0
SELECT * FROM `sales`.`or"ders` WHERE ((`changed` = ? AND `id` > ?) OR `changed` > ?) AND `changed` <= ? AND `id` IS NOT NULL ORDER BY `changed` ASC,`id` ASC
-- both: T6.0, T9.0
SELECT * FROM `sales`.`or"ders` WHERE `changed` > ? AND `changed` < ? AND `id` IS NOT NULL ORDER BY `changed` ASC,`id` ASC

-- SqliteDatabaseDialect
-- bulk: 
SELECT * FROM "sales"."or""ders"
-- bulk, by key: 
SELECT MIN("id"), MAX("id"), COUNT(*) FROM "sales"."or""ders"
-- bulk, by key: N200
SELECT * FROM "sales"."or""ders" WHERE "id" <= ? ORDER BY "id" ASC
-- bulk, by key: N200
SELECT * FROM "sales"."or""ders" WHERE "id" > ? ORDER BY "id" ASC
-- incrementing, first: N300
SELECT MIN("id"), MAX("id"), COUNT(*) FROM "sales"."or""ders" WHERE "id" <= ?
-- incrementing, first: N200
SELECT * FROM "sales"."or""ders" WHERE "id" <= ? ORDER BY "id" ASC
-- incrementing, first: N200, N300
SELECT * FROM "sales"."or""ders" WHERE "id" > ? AND "id" <= ? ORDER BY "id" ASC
-- incrementing: N100
SELECT MAX("id") FROM "sales"."or""ders" WHERE "id" > ?
-- incrementing: N100, N300
SELECT MIN("id"), MAX("id"), COUNT(*) FROM "sales"."or""ders" WHERE "id" > ? AND "id" <= ?
-- incrementing: N100, N200
SELECT * FROM "sales"."or""ders" WHERE "id" > ? AND "id" <= ? ORDER BY "id" ASC FOR READ ONLY
-- incrementing: N200, N300
SELECT * FROM "sales"."or""ders" WHERE "id" > ? AND "id" <= ? ORDER BY "id" ASC FOR READ ONLY
-- timestamp: T5.1, T9.0
SELECT MIN("changed"), MAX("changed"), COUNT(*) FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" < ?
-- timestamp: T5.1, T6.0
SELECT * FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" <= ? ORDER BY "changed" ASC
-- timestamp: T6.0, T9.0
SELECT * FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" < ? ORDER BY "changed" ASC
-- timestamps: T0.0, T9.0
SELECT MIN(COALESCE("changed","created")), MAX(COALESCE("changed","created")), COUNT(*) FROM "sales"."or""ders" WHERE COALESCE("changed","created") > ? AND COALESCE("changed","created") < ?
-- timestamps: T0.0, T6.0
SELECT * FROM "sales"."or""ders" WHERE COALESCE("changed","created") > ? AND COALESCE("changed","created") <= ? ORDER BY COALESCE("changed","created") ASC
-- timestamps: T6.0, T9.0
SELECT * FROM "sales"."or""ders" WHERE COALESCE("changed","created") > ? AND COALESCE("changed","created") < ? ORDER BY COALESCE("changed","created") ASC
-- both, first: T0.0, T9.0
SELECT MIN("changed"), MAX("changed"), COUNT(*) FROM "sales"."or""ders" WHERE "changed" >= ? AND "changed" < ? AND "id" IS NOT NULL
-- both, first: T0.0, T6.0
SELECT * FROM "sales"."or""ders" WHERE "changed" >= ? AND "changed" <= ? AND "id" IS NOT NULL ORDER BY "changed" ASC,"id" ASC
-- both, first: T6.0, T9.0
SELECT * FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" < ? AND "id" IS NOT NULL ORDER BY "changed" ASC,"id" ASC
-- both: T5.1, N7, T5.1, T9.0
SELECT MIN("changed"), MAX("changed"), COUNT(*) FROM "sales"."or""ders" WHERE (("changed" = ? AND "id" > ?) OR "changed" > ?) AND "changed" < ? AND "id" IS NOT NULL
-- both: T5.1, N7, T5.1, T6.0
SELECT * FROM "sales"."or""ders" WHERE (("changed" = ? AND "id" > ?) OR "changed" > ?) AND "changed" <= ? AND "id" IS NOT NULL ORDER BY "changed" ASC,"id" ASC
-- both: T6.0, T9.0
SELECT * FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" < ? AND "id" IS NOT NULL ORDER BY "changed" ASC,"id" ASC

-- DerbyDatabaseDialect
-- bulk: 
SELECT * FROM "sales"."or""ders"
-- bulk, by key: 
SELECT MIN("id"), MAX("id"), COUNT(*) FROM "sales"."or""ders"
-- bulk, by key: N200
SELECT * FROM "sales"."or""ders" WHERE "id" <= ? ORDER BY "id" ASC
-- bulk, by key: N200
SELECT * FROM "sales"."or""ders" WHERE "id" > ? ORDER BY "id" ASC
-- incrementing, first: N300
SELECT MIN("id"), MAX("id"), COUNT(*) FROM "sales"."or""ders" WHERE "id" <= ?
-- incrementing, first: N200
SELECT * FROM "sales"."or""ders" WHERE "id" <= ? ORDER BY "id" ASC
-- incrementing, first: N200, N300
SELECT * FROM "sales"."or""ders" WHERE "id" > ? AND "id" <= ? ORDER BY "id" ASC
-- incrementing: N100
SELECT MAX("id") FROM "sales"."or""ders" WHERE "id" > ?
-- incrementing: N100, N300
SELECT MIN("id"), MAX("id"), COUNT(*) FROM "sales"."or""ders" WHERE "id" > ? AND "id" <= ?
-- incrementing: N100, N200
SELECT * FROM "sales"."or""ders" WHERE "id" > ? AND "id" <= ? ORDER BY "id" ASC FOR READ ONLY
-- incrementing: N200, N300
SELECT * FROM "sales"."or""ders" WHERE "id" > ? AND "id" <= ? ORDER BY "id" ASC FOR READ ONLY
-- timestamp: T5.1, T9.0
SELECT MIN("changed"), MAX("changed"), COUNT(*) FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" < ?
-- timestamp: T5.1, T6.0
SELECT * FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" <= ? ORDER BY "changed" ASC
-- timestamp: T6.0, T9.0
SELECT * FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" < ? ORDER BY "changed" ASC
-- timestamps: T0.0, T9.0
SELECT MIN(COALESCE("changed","created")), MAX(COALESCE("changed","created")), COUNT(*) FROM "sales"."or""ders" WHERE COALESCE("changed","created") > ? AND COALESCE("changed","created") < ?
-- timestamps: T0.0, T6.0
SELECT * FROM "sales"."or""ders" WHERE COALESCE("changed","created") > ? AND COALESCE("changed","created") <= ? ORDER BY COALESCE("changed","created") ASC
-- timestamps: T6.0, T9.0
SELECT * FROM "sales"."or""ders" WHERE COALESCE("changed","created") > ? AND COALESCE("changed","created") < ? ORDER BY COALESCE("changed","created") ASC
-- both, first: T0.0, T9.0
SELECT MIN("changed"), MAX("changed"), COUNT(*) FROM "sales"."or""ders" WHERE "changed" >= ? AND "changed" < ? AND "id" IS NOT NULL
-- both, first: T0.0, T6.0
SELECT * FROM "sales"."or""ders" WHERE "changed" >= ? AND "changed" <= ? AND "id" IS NOT NULL ORDER BY "changed" ASC,"id" ASC
-- both, first: T6.0, T9.0
SELECT * FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" < ? AND "id" IS NOT NULL ORDER BY "changed" ASC,"id" ASC
-- both: T5.1, N7, T5.1, T9.0
SELECT MIN("changed"), MAX("changed"), COUNT(*) FROM "sales"."or""ders" WHERE (("changed" = ? AND "id" > ?) OR "changed" > ?) AND "changed" < ? AND "id" IS NOT NULL
-- both: T5.1, N7, T5.1, T6.0
SELECT * FROM "sales"."or""ders" WHERE (("changed" = ? AND "id" > ?) OR "changed" > ?) AND "changed" <= ? AND "id" IS NOT NULL ORDER BY "changed" ASC,"id" ASC
-- both: T6.0, T9.0
SELECT * FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" < ? AND "id" IS NOT NULL ORDER BY "changed" ASC,"id" ASC

-- SqlServerDatabaseDialect
-- bulk: 
SELECT * FROM [sales].[or"ders]
-- bulk, by key: 
SELECT MIN([id]), MAX([id]), COUNT(*) FROM [sales].[or"ders]
-- bulk, by key: N200
SELECT * FROM [sales].[or"ders] WHERE [id] <= ? ORDER BY [id] ASC
-- bulk, by key: N200
SELECT * FROM [sales].[or"ders] WHERE [id] > ? ORDER BY [id] ASC
-- incrementing, first: N300
SELECT MIN([id]), MAX([id]), COUNT(*) FROM [sales].[or"ders] WHERE [id] <= ?
-- incrementing, first: N200
SELECT * FROM [sales].[or"ders] WHERE [id] <= ? ORDER BY [id] ASC
-- incrementing, first: N200, N300
SELECT * FROM [sales].[or"ders] WHERE [id] > ? AND [id] <= ? ORDER BY [id] ASC
-- incrementing: N100
SELECT MAX([id]) FROM [sales].[or"ders] WHERE [id] > ?
-- incrementing: N100, N300
SELECT MIN([id]), MAX([id]), COUNT(*) FROM [sales].[or"ders] WHERE [id] > ? AND [id] <= ?
-- incrementing: N100, N200
SELECT * FROM [sales].[or"ders] WHERE [id] > ? AND [id] <= ? ORDER BY [id] ASC FOR READ ONLY
-- incrementing: N200, N300
SELECT * FROM [sales].[or"ders] WHERE [id] > ? AND [id] <= ? ORDER BY [id] ASC FOR READ ONLY
-- timestamp: T5.1, T9.0
SELECT MIN([changed]), MAX([changed]), COUNT(*) FROM [sales].[or"ders] WHERE [changed] > ? AND [changed] < ?
-- timestamp: T5.1, T6.0
SELECT * FROM [sales].[or"ders] WHERE [changed] > ? AND [changed] <= ? ORDER BY [changed] ASC
-- timestamp: T6.0, T9.0
SELECT * FROM [sales].[or"ders] WHERE [changed] > ? AND [changed] < ? ORDER BY [changed] ASC
-- timestamps: T0.0, T9.0
SELECT MIN(COALESCE([changed],[created])), MAX(COALESCE([changed],[created])), COUNT(*) FROM [sales].[or"ders] WHERE COALESCE([changed],[created]) > ? AND COALESCE([changed],[created]) < ?
-- timestamps: T0.0, T6.0
SELECT * FROM [sales].[or"ders] WHERE COALESCE([changed],[created]) > ? AND COALESCE([changed],[created]) <= ? ORDER BY COALESCE([changed],[created]) ASC
-- timestamps: T6.0, T9.0
SELECT * FROM [sales].[or"ders] WHERE COALESCE([changed],[created]) > ? AND COALESCE([changed],[created]) < ? ORDER BY COALESCE([changed],[created]) ASC
-- both, first: T0.0, T9.0
SELECT MIN([changed]), MAX([changed]), COUNT(*) FROM [sales].[or"ders] WHERE [changed] >= ? AND [changed] < ? AND [id] IS NOT NULL
-- both, first: T0.0, T6.0
SELECT * FROM [sales].[or"ders] WHERE [changed] >= ? AND [changed] <= ? AND [id] IS NOT NULL ORDER BY [changed] ASC,[id] ASC
-- both, first: T6.0, T9.0
SELECT * FROM [sales].[or"ders] WHERE [changed] > ? AND [changed] < ? AND [id] IS NOT NULL ORDER BY [changed] ASC,[id] ASC
-- both: T5.1, N7, T5.1, T9.0
SELECT MIN([changed]), MAX([changed]), COUNT(*) FROM [sales].[or"ders] WHERE (([changed] = ? AND [id] > ?) OR [changed] > ?) AND [changed] < ? AND [id] IS NOT NULL
-- both: T5.1, N7, T5.1, T6.0
SELECT * FROM [sales].[or"ders] WHERE (([changed] = ? AND [id] > ?) OR [changed] > ?) AND [changed] <= ? AND [id] IS NOT NULL ORDER BY [changed] ASC,[id] ASC
-- both: T6.0, T9.0
SELECT * FROM [sales].[or"ders] WHERE [changed] > ? AND [changed] < ? AND [id] IS NOT NULL ORDER BY [changed] ASC,[id] ASC

-- OracleDatabaseDialect
-- bulk: 
SELECT * FROM "sales"."or""ders"
-- bulk, by key: 
SELECT MIN("id"), MAX("id"), COUNT(*) FROM "sales"."or""ders"
-- bulk, by key: N200
SELECT * FROM "sales"."or""ders" WHERE "id" <= ? ORDER BY "id" ASC
-- bulk, by key: N200
SELECT * FROM "sales"."or""ders" WHERE "id" > ? ORDER BY "id" ASC
-- incrementing, first: N300
SELECT MIN("id"), MAX("id"), COUNT(*) FROM "sales"."or""ders" WHERE "id" <= ?
-- incrementing, first: N200
SELECT * FROM "sales"."or""ders" WHERE "id" <= ? ORDER BY "id" ASC
-- incrementing, first: N200, N300
SELECT * FROM "sales"."or""ders" WHERE "id" > ? AND "id" <= ? ORDER BY "id" ASC
-- incrementing: N100
SELECT MAX("id") FROM "sales"."or""ders" WHERE "id" > ?
-- incrementing: N100, N300
SELECT MIN("id"), MAX("id"), COUNT(*) FROM "sales"."or""ders" WHERE "id" > ? AND "id" <= ?
-- incrementing: N100, N200
SELECT * FROM "sales"."or""ders" WHERE "id" > ? AND "id" <= ? ORDER BY "id" ASC FOR READ ONLY
-- incrementing: N200, N300
SELECT * FROM "sales"."or""ders" WHERE "id" > ? AND "id" <= ? ORDER BY "id" ASC FOR READ ONLY
-- timestamp: T5.1, T9.0
SELECT MIN("changed"), MAX("changed"), COUNT(*) FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" < ?
-- timestamp: T5.1, T6.0
SELECT * FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" <= ? ORDER BY "changed" ASC
-- timestamp: T6.0, T9.0
SELECT * FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" < ? ORDER BY "changed" ASC
-- timestamps: T0.0, T9.0
SELECT MIN(COALESCE("changed","created")), MAX(COALESCE("changed","created")), COUNT(*) FROM "sales"."or""ders" WHERE COALESCE("changed","created") > ? AND COALESCE("changed","created") < ?
-- timestamps: T0.0, T6.0
SELECT * FROM "sales"."or""ders" WHERE COALESCE("changed","created") > ? AND COALESCE("changed","created") <= ? ORDER BY COALESCE("changed","created") ASC
-- timestamps: T6.0, T9.0
SELECT * FROM "sales"."or""ders" WHERE COALESCE("changed","created") > ? AND COALESCE("changed","created") < ? ORDER BY COALESCE("changed","created") ASC
-- both, first: T0.0, T9.0
SELECT MIN("changed"), MAX("changed"), COUNT(*) FROM "sales"."or""ders" WHERE "changed" >= ? AND "changed" < ? AND "id" IS NOT NULL
-- both, first: T0.0, T6.0
SELECT * FROM "sales"."or""ders" WHERE "changed" >= ? AND "changed" <= ? AND "id" IS NOT NULL ORDER BY "changed" ASC,"id" ASC
-- both, first: T6.0, T9.0
SELECT * FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" < ? AND "id" IS NOT NULL ORDER BY "changed" ASC,"id" ASC
-- both: T5.1, N7, T5.1, T9.0
SELECT MIN("changed"), MAX("changed"), COUNT(*) FROM "sales"."or""ders" WHERE (("changed" = ? AND "id" > ?) OR "changed" > ?) AND "changed" < ? AND "id" IS NOT NULL
-- both: T5.1, N7, T5.1, T6.0
SELECT * FROM "sales"."or""ders" WHERE (("changed" = ? AND "id" > ?) OR "changed" > ?) AND "changed" <= ? AND "id" IS NOT NULL ORDER BY "changed" ASC,"id" ASC
-- both: T6.0, T9.0
SELECT * FROM "sales"."or""ders" WHERE "changed" > ? AND "changed" < ? AND "id" IS NOT NULL ORDER BY "changed" ASC,"id" ASC

