"""Databases whose JDBC URLs are known, and the properties of their drivers that are safe.

A property is safe if its value is neither a class, nor a file, nor a program, nor a further URL, nor SQL that runs on
the worker's machine. Properties that name files are apart: they have to be in an allowed folder. The names are those of
the drivers' documentation. Whatever is not here is refused, see ``permissions.jdbc``.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.config.permissions.jdbc_database import JdbcDatabase
from penstock.core.config.permissions.jdbc_urls import (
    clickhouse_url,
    db2_url,
    derby_url,
    duckdb_url,
    jtds_url,
    mysql_url,
    oracle_url,
    postgresql_url,
    server_url,
    sqlite_url,
    sqlserver_url,
    teradata_url,
)


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOGIN = frozenset({"user", "password"})


_POSTGRESQL = JdbcDatabase(
    "jdbc:postgresql://host:port/database?name=value&…",
    postgresql_url,
    frozenset({"org.postgresql.Driver"}),
    _LOGIN
    | _set(
        "adaptiveFetch adaptiveFetchMaximum adaptiveFetchMinimum allowEncodingChanges ApplicationName "
        "assumeMinServerVersion autosave binaryTransfer binaryTransferDisable binaryTransferEnable "
        "cancelSignalTimeout channelBinding cleanupSavepoints compatible connectTimeout convertBooleanToNumeric "
        "currentSchema databaseMetadataCacheFields databaseMetadataCacheFieldsMiB defaultRowFetchSize "
        "disableColumnSanitiser escapeSyntaxCallMode gssEncMode gsslib gssResponseTimeout gssUseDefaultCreds "
        "groupStartupParameters hideUnprivilegedObjects hostRecheckSeconds jaasLogin kerberosServerName "
        "loadBalanceHosts localSocketAddress loginTimeout logServerErrorDetail logUnclosedConnections "
        "maxResultBuffer maxSendBufferSize options preferQueryMode preparedStatementCacheQueries "
        "preparedStatementCacheSizeMiB prepareThreshold protocolVersion quoteReturningIdentifiers readOnly "
        "readOnlyMode receiveBufferSize requireAuth reWriteBatchedInserts sendBufferSize socketTimeout ssl "
        "sslmode sslNegotiation sslpassword sslResponseTimeout sspiServiceClass stringtype targetServerType "
        "tcpKeepAlive tcpNoDelay unknownLength useSpnego"
    ),
    _set("sslcert sslkey sslrootcert"),
    {
        "sslfactory": _set(
            "org.postgresql.ssl.NonValidatingFactory org.postgresql.ssl.DefaultJavaSSLFactory "
            "org.postgresql.ssl.LibPQFactory org.postgresql.ssl.jdbc4.LibPQFactory"
        ),
    },
)
_MYSQL = JdbcDatabase(
    "jdbc:mysql://host:port/database?name=value&…",
    mysql_url,
    frozenset({"com.mysql.cj.jdbc.Driver", "com.mysql.jdbc.Driver", "org.mariadb.jdbc.Driver"}),
    _LOGIN
    | _set(
        # Both drivers
        "allowMultiQueries allowPublicKeyRetrieval cachePrepStmts connectionAttributes connectionCollation "
        "connectionTimeZone connectTimeout createDatabaseIfNotExist defaultFetchSize "
        "disconnectOnExpiredPasswords dumpQueriesOnException fallbackToSystemKeyStore "
        "fallbackToSystemTrustStore forceConnectionTimeZoneToSession includeInnodbStatusInDeadlockExceptions "
        "jdbcCompliantTruncation maxAllowedPacket maxQuerySizeToLog nullCatalogMeansCurrent nullDatabaseMeansCurrent "
        "pinGlobalTxToPhysicalConnection preserveInstants prepStmtCacheSize prepStmtCacheSqlLimit "
        "retriesAllDown rewriteBatchedStatements sessionVariables socketTimeout sslMode tcpKeepAlive tcpNoDelay "
        "tinyInt1isBit transformedBitIsBoolean useAffectedRows useCompression useLocalSessionState "
        "useReadAheadInput useServerPrepStmts useSSL requireSSL verifyServerCertificate trustServerCertificate "
        "yearIsDateType serverTimezone "
        # MySQL's
        "alwaysSendSetIsolation autoClosePStmtStreams autoReconnect autoReconnectForPools blobSendChunkSize "
        "blobsAreStrings cacheCallableStmts cacheDefaultTimeZone cacheResultSetMetadata "
        "cacheServerConfiguration callableStmtCacheSize characterEncoding characterSetResults "
        "clientCertificateKeyStorePassword clientCertificateKeyStoreType clobCharacterEncoding "
        "compensateOnDuplicateKeyUpdateCounts continueBatchOnError databaseTerm disabledAuthenticationPlugins "
        "dnsSrv dontCheckOnDuplicateKeyUpdateInSQL dontTrackOpenResources elideSetAutoCommits "
        "emptyStringsConvertToZero emulateLocators emulateUnsupportedPstmts enabledSSLCipherSuites "
        "enabledTLSProtocols enableEscapeProcessing enableQueryTimeouts failOverReadOnly fipsCompliantJsse "
        "functionsNeverReturnBlobs generateSimpleParameterMetadata getProceduresReturnsFunctions "
        "holdResultsOpenOverStatementClose ignoreNonTxTables includeThreadDumpInDeadlockExceptions "
        "includeThreadNamesAsStatementComment initialTimeout interactiveClient loadBalanceBlocklistTimeout "
        "loadBalancePingTimeout locatorFetchBufferSize maxReconnects maxRows metadataCacheSize "
        "netTimeoutForStreamingResults noAccessToProcedureBodies noDatetimeStringSync nullNamePatternMatchesAll "
        "overrideSupportsIntegrityEnhancementFacility padCharsWithSpace password1 password2 password3 "
        "passwordCharacterEncoding pedantic populateInsertRowWithDefaultValues processEscapeCodesForPrepStmts "
        "queriesBeforeRetrySource queryTimeoutKillsConnection readFromSourceWhenNoReplicas "
        "readOnlyPropagatesToServer reconnectAtTxEnd rollbackOnPooledClose scrollTolerantForwardOnly "
        "secondsBeforeRetrySource sendFractionalSeconds sendFractionalSecondsForTime strictUpdates tcpRcvBuf "
        "tcpSndBuf tcpTrafficClass tlsCiphersuites tlsVersions treatMysqlDatetimeAsTimestamp "
        "treatUtilDateAsTimestamp trackSessionState trustCertificateKeyStorePassword "
        "trustCertificateKeyStoreType useColumnNamesInFindColumn useCursorFetch useGmtMillisForDatetimes "
        "useHostsInPrivileges useInformationSchema useJDBCCompliantTimezoneShift useLegacyDatetimeCode "
        "useLocalTransactionState useOldAliasMetadataBehavior useOnlyServerErrorMessages "
        "useStreamLengthsInPrepStmts useTimezone useUnbufferedInput useUnicode zeroDateTimeBehavior "
        # MariaDB's
        "autocommit blankTableNameMeta disableSslHostnameVerification disablePipeline enabledSslCipherSuites "
        "enabledSslProtocolSuites galeraAllowedState jdbcCompliantTruncation keyPassword keyStorePassword "
        "keyStoreType maxIdleTime maxPoolSize metaExportedKeys minPoolSize oldModeNoPrecisionTimestamp "
        "permitMysqlScheme permitNoResults pool poolName poolValidMinDelay restrictedAuth "
        "returnMultiValuesGeneratedIds servicePrincipalName tcpAbortiveClose tcpKeepCount tcpKeepIdle "
        "tcpKeepInterval timezone transactionIsolation transactionReplay transactionReplaySize "
        "trustStorePassword trustStoreType useBulkStmts useBulkStmtsForInserts useCatalogTerm useMysqlMetadata "
        "useResetConnection uuidAsString"
    ),
    _set(
        "clientCertificateKeyStoreUrl trustCertificateKeyStoreUrl serverRSAPublicKeyFile keyStore trustStore "
        "serverSslCert"
    ),
    {
        "useConfigs": _set("maxPerformance maxPerformance-8-0 3-0-Compat clusterBase coldFusion solarisMaxPerformance"),
        "ha.loadBalanceStrategy": _set("random bestResponseTime serverAffinity"),
        "defaultAuthenticationPlugin": _set("mysql_native_password caching_sha2_password sha256_password"),
        # Off as by default, which careful people write
        **dict.fromkeys(
            _set("allowLoadLocalInfile allowLocalInfile allowUrlInLocalInfile autoDeserialize"), _set("false no")
        ),
    },
)
_SQLSERVER_VALUES = _LOGIN | _set(
    "applicationIntent applicationName authentication authenticationScheme cancelQueryTimeout clientKeyPassword "
    "columnEncryptionSetting connectRetryCount connectRetryInterval database databaseName datetimeParameterType "
    "delayLoadingLobs disableStatementPooling domain enablePrepareOnFirstPreparedStatementCall encrypt "
    "failoverPartner fips hostNameInCertificate instanceName integratedSecurity iPAddressPreference "
    "lastUpdateCount lockTimeout loginTimeout maxResultBuffer msiClientId multiSubnetFailover packetSize "
    "password port portNumber prepareMethod queryTimeout realm replication responseBuffering selectMethod "
    "sendStringParametersAsUnicode sendTemporalDataTypesAsStringForBulkCopy sendTimeAsDatetime server "
    "serverName serverNameAsACE serverPreparedStatementDiscardThreshold serverSpn socketTimeout sslProtocol "
    "statementPoolingCacheSize transparentNetworkIPResolution trustServerCertificate trustStorePassword "
    "trustStoreType useBulkCopyForBatchInsert useFmtOnly userName workstationID xopenStates "
    "keyStoreAuthentication keyStoreSecret AADSecurePrincipalId AADSecurePrincipalSecret "
    "useDefaultGSSCredential useDefaultJaasConfig calcBigDecimalPrecision cacheBulkCopyMetadata "
    "bulkCopyForBatchInsertBatchSize bulkCopyForBatchInsertCheckConstraints bulkCopyForBatchInsertTableLock "
    "bulkCopyForBatchInsertFireTriggers bulkCopyForBatchInsertKeepIdentity bulkCopyForBatchInsertKeepNulls "
    "vectorTypeSupport quotedIdentifier concatNullYieldsNull retryConn"
)
_SQLSERVER_DATABASE = JdbcDatabase(
    "jdbc:sqlserver://host:port;name=value;…",
    sqlserver_url,
    frozenset({"com.microsoft.sqlserver.jdbc.SQLServerDriver"}),
    _SQLSERVER_VALUES,
    _set("trustStore keyStoreLocation serverCertificate clientCertificate clientKey"),
)
_JTDS = JdbcDatabase(
    "jdbc:jtds:sqlserver://host:port/database;name=value;…",
    jtds_url,
    frozenset({"net.sourceforge.jtds.jdbc.Driver"}),
    _LOGIN
    | _set(
        "appName autoCommit batchSize bufferMaxMemory cacheMetaData charset databaseName domain instance "
        "language lastUpdateCount lobBuffer loginTimeout maxStatements namedPipe packetSize prepareSQL progName "
        "sendStringParametersAsUnicode serverName portNumber socketKeepAlive socketTimeout ssl tcpNoDelay TDS "
        "useCursors useJCIFS useLOBs useNTLMv2 wsid xaEmulation"
    ),
)
_ORACLE = JdbcDatabase(
    "jdbc:oracle:thin:@//host:port/service?name=value&…",
    oracle_url,
    frozenset({"oracle.jdbc.OracleDriver", "oracle.jdbc.driver.OracleDriver"}),
    _LOGIN
    | _set(
        # Of the address
        "connect_timeout transport_connect_timeout retry_count retry_delay load_balance failover source_route "
        "sdu expire_time enable ssl_server_cert_dn ssl_server_dn_match ssl_version ssl_cipher_suites server "
        "compression use_sni security server_cert_dn "
        # Of the driver
        "oracle.net.CONNECT_TIMEOUT oracle.net.OUTBOUND_CONNECT_TIMEOUT oracle.net.DOWN_HOSTS_TIMEOUT "
        "oracle.net.READ_TIMEOUT oracle.net.keepAlive oracle.net.TCP_KEEPIDLE oracle.net.TCP_KEEPINTERVAL "
        "oracle.net.TCP_KEEPCOUNT oracle.net.disableOob oracle.net.encryption_client "
        "oracle.net.encryption_types_client oracle.net.crypto_checksum_client "
        "oracle.net.crypto_checksum_types_client oracle.net.authentication_services "
        "oracle.net.kerberos5_mutual_authentication oracle.net.KerberosRealm oracle.net.ssl_version "
        "oracle.net.ssl_cipher_suites oracle.net.ssl_server_dn_match oracle.net.ssl_server_cert_dn "
        "oracle.net.ssl_certificate_alias oracle.net.wallet_password oracle.net.networkCompression "
        "oracle.net.networkCompressionLevels oracle.net.networkCompressionThreshold oracle.net.setFIPSMode "
        "oracle.net.useSNI oracle.net.connectionIdPrefix oracle.net.allow_weak_crypto oracle.jdbc.ReadTimeout "
        "oracle.jdbc.TcpNoDelay oracle.jdbc.loginTimeout oracle.jdbc.timezoneAsRegion "
        "oracle.jdbc.timestampTzInGmt oracle.jdbc.mapDateToTimestamp oracle.jdbc.J2EE13Compliant "
        "oracle.jdbc.defaultLobPrefetchSize oracle.jdbc.implicitStatementCacheSize "
        "oracle.jdbc.convertNcharLiterals oracle.jdbc.autoCommitSpecCompliant oracle.jdbc.continueBatchOnError "
        "oracle.jdbc.commitOption oracle.jdbc.defaultConnectionValidation oracle.jdbc.DRCPConnectionClass "
        "oracle.jdbc.DRCPConnectionPurity oracle.jdbc.editionName oracle.jdbc.fanEnabled "
        "oracle.jdbc.maxCachedBufferSize oracle.jdbc.useFetchSizeWithLongColumn "
        "oracle.jdbc.enableQueryResultCache oracle.jdbc.enableResultSetCache "
        "oracle.jdbc.sendBooleanAsNativeBoolean oracle.jdbc.jsonDefaultGetObjectType "
        "oracle.jdbc.vectorDefaultGetObjectType oracle.jdbc.proxyClientName oracle.jdbc.javaNetNio "
        "oracle.jdbc.useNio oracle.jdbc.RetainV9LongBindBehavior oracle.jdbc.fetchSizeTuning "
        "javax.net.ssl.keyStoreType javax.net.ssl.keyStorePassword javax.net.ssl.trustStoreType "
        "javax.net.ssl.trustStorePassword v$session.program v$session.terminal v$session.machine "
        "v$session.osuser v$session.process v$session.iname v$session.ename defaultRowPrefetch "
        "defaultBatchValue defaultExecuteBatch defaultNChar fixedString includeSynonyms internal_logon "
        "processEscapes remarksReporting restrictGetTables SetBigStringTryClob SetFloatAndDoubleUseBinary "
        "useFetchSizeWithLongColumn AccumulateBatchResult disableDefineColumnType mapStringParameterToCHAR "
        "autoCommit"
    ),
    _set(
        "wallet_location my_wallet_directory tns_admin oracle.net.wallet_location oracle.net.tns_admin "
        "javax.net.ssl.keyStore javax.net.ssl.trustStore"
    ),
)
_SQLITE = JdbcDatabase(
    "jdbc:sqlite:/path/file?name=value&…",
    sqlite_url,
    frozenset({"org.sqlite.JDBC"}),
    _LOGIN
    | _set(
        "mode cache immutable nolock psow open_mode shared_cache cache_size mmap_size case_sensitive_like "
        "count_changes default_cache_size defer_foreign_keys empty_result_callback encoding foreign_keys "
        "full_column_names fullsync incremental_vacuum journal_mode journal_size_limit legacy_alter_table "
        "legacy_file_format locking_mode page_size max_page_count read_uncommitted recursive_triggers "
        "reverse_unordered_selects secure_delete short_column_names synchronous temp_store user_version "
        "application_id limit_length limit_sql_length limit_column limit_expr_depth limit_compound_select "
        "limit_vdbe_op limit_function_arg limit_attached limit_like_pattern_length limit_variable_number "
        "limit_trigger_depth limit_worker_threads limit_page_count transaction_mode date_precision date_class "
        "date_string_format busy_timeout hexkey_mode jdbc.explicit_readonly jdbc.get_generated_keys"
    ),
    plain=True,
)
_DERBY = JdbcDatabase(
    "jdbc:derby:/path/folder;name=value;… or jdbc:derby://host:port/database;…",
    derby_url,
    _set(
        "org.apache.derby.iapi.jdbc.AutoloadedDriver org.apache.derby.jdbc.EmbeddedDriver "
        "org.apache.derby.jdbc.ClientDriver org.apache.derby.client.ClientAutoloadedDriver"
    ),
    _LOGIN
    | _set(
        "create territory collation bootPassword newBootPassword dataEncryption encryptionAlgorithm "
        "encryptionKey encryptionKeyLength upgrade drop deregister ssl securityMechanism retrieveMessageText "
        "loginTimeout"
    ),
)
_DUCKDB = JdbcDatabase(
    "jdbc:duckdb:/path/file;name=value;…",
    duckdb_url,
    frozenset({"org.duckdb.DuckDBDriver"}),
    _LOGIN
    | _set(
        "access_mode duckdb.read_only threads worker_threads memory_limit max_memory jdbc_stream_results "
        "default_null_order default_order null_order preserve_insertion_order TimeZone schema"
    ),
    plain=True,
)
_DB2 = JdbcDatabase(
    "jdbc:db2://host:port/database:name=value;…",
    db2_url,
    frozenset({"com.ibm.db2.jcc.DB2Driver"}),
    _LOGIN
    | _set(
        "affinityFailbackInterval atomicMultiRowInsert blockingReadConnectionTimeout "
        "clientAccountingInformation clientApplicationInformation clientCorrelationToken clientProgramName "
        "clientUser clientWorkstation commandTimeout connectionCloseWithInFlightTransaction connectionTimeout "
        "currentDegree currentFunctionPath currentIsolation currentLockTimeout currentPackagePath "
        "currentPackageSet currentQueryOptimization currentSchema currentSQLID cursorSensitivity dateFormat "
        "decimalSeparator decimalStringFormat deferPrepares defaultIsolationLevel driverType "
        "enableClientAffinitiesList enableNamedParameterMarkers enableSeamlessFailover enableSysplexWLB "
        "encryptionAlgorithm fetchSize fullyMaterializeInputStreams fullyMaterializeLobData keepAliveTimeOut "
        "keepDynamic kerberosServerPrincipal loginTimeout maxRetriesForClientReroute maxStatements "
        "maxTransportObjects memberConnectTimeout optimizationProfile progressiveStreaming queryBlockSize "
        "queryCloseImplicit queryTimeoutInterruptProcessingMode queryDataSize readOnly resultSetHoldability "
        "retrieveMessagesFromServerOnGetMessage retryIntervalForClientReroute securityMechanism sendDataAsIs "
        "sslConnection sslCipherSuites sslClientHostnameValidation sslKeyStorePassword sslKeyStoreType "
        "sslTrustStorePassword sslTrustStoreType sslVersion streamBufferSize timeFormat timestampFormat "
        "timestampPrecisionReporting useCachedCursor useJDBC4ColumnNameAndLabelSemantics useTransactionRedirect "
        "xaNetworkOptimization allowNextOnExhaustedResultSet clientProgramId enableRowsetSupport "
        "emulateParameterMetaDataForZCalls extendedTimestamp useRowsetCursor"
    ),
    _set("sslTrustStoreLocation sslKeyStoreLocation sslCertLocation"),
)
_REDSHIFT = JdbcDatabase(
    "jdbc:redshift://host:port/database?name=value&…",
    server_url,
    frozenset({"com.amazon.redshift.jdbc.Driver", "com.amazon.redshift.jdbc42.Driver"}),
    _LOGIN
    | _set(
        "ApplicationName BlockingRowsMode connectTimeout currentSchema databaseMetadataCurrentDbOnly "
        "defaultRowFetchSize enableFetchRingBuffer fetchRingBufferSize loginTimeout queryGroup readOnly "
        "reWriteBatchedInserts reWriteBatchedInsertsSize socketTimeout ssl sslmode tcpKeepAlive "
        "TCPKeepAliveMinutes stringtype options UID PWD"
    ),
    _set("sslcert sslkey sslrootcert"),
)
_SNOWFLAKE = JdbcDatabase(
    "jdbc:snowflake://account.snowflakecomputing.com/?name=value&…",
    server_url,
    frozenset({"net.snowflake.client.jdbc.SnowflakeDriver", "net.snowflake.client.api.driver.SnowflakeDriver"}),
    _LOGIN
    | _set(
        "account application db database schema role warehouse ssl loginTimeout networkTimeout queryTimeout "
        "private_key_file_pwd private_key_pwd token passcode passcodeInPassword client_session_keep_alive "
        "CLIENT_SESSION_KEEP_ALIVE TIMEZONE TIMESTAMP_TYPE_MAPPING QUERY_TAG JDBC_QUERY_RESULT_FORMAT "
        "CLIENT_RESULT_CHUNK_SIZE MULTI_STATEMENT_COUNT autocommit"
    ),
    _set("private_key_file"),
    {"authenticator": _set("snowflake snowflake_jwt username_password_mfa oauth programmatic_access_token")},
)
_CLICKHOUSE = JdbcDatabase(
    "jdbc:clickhouse://host:port/database?name=value&…",
    clickhouse_url,
    _set("com.clickhouse.jdbc.ClickHouseDriver com.clickhouse.jdbc.Driver ru.yandex.clickhouse.ClickHouseDriver"),
    _LOGIN
    | _set(
        "database ssl sslmode socket_timeout connect_timeout connection_timeout connection_ttl compress "
        "decompress compress_algorithm client_name product_name session_id session_timeout use_server_time_zone "
        "use_time_zone server_time_zone max_execution_time max_threads max_open_connections max_result_rows "
        "retry failover async_insert wait_for_async_insert insert_quorum http_connection_provider "
        "dataTransferTimeout access_token"
    ),
    _set("sslrootcert sslcert sslkey"),
)
_TRINO = JdbcDatabase(
    "jdbc:trino://host:port/catalog/schema?name=value&…",
    lambda rest: server_url(rest, paths=2),
    frozenset({"io.trino.jdbc.TrinoDriver"}),
    _LOGIN
    | _set(
        "SSL SSLVerification SSLTrustStorePassword SSLTrustStoreType SSLKeyStorePassword SSLKeyStoreType "
        "accessToken applicationNamePrefix clientInfo clientTags disableCompression explicitPrepare roles "
        "sessionProperties sessionUser source timezone traceToken locale path"
    ),
    _set("SSLTrustStorePath SSLKeyStorePath"),
)
_VERTICA = JdbcDatabase(
    "jdbc:vertica://host:port/database?name=value&…",
    server_url,
    frozenset({"com.vertica.jdbc.Driver"}),
    _LOGIN
    | _set(
        "AutoCommit BackupServerNode BinaryTransfer ConnectionLoadBalance ConnSettings LoginTimeout "
        "LoginNetworkTimeout Label Locale ReadOnly ResultBufferSize SearchPath SSL TLSmode TrustStorePassword "
        "KeyStorePassword TransactionIsolation Workload"
    ),
    _set("KeyStorePath TrustStorePath"),
)
_SAP = JdbcDatabase(
    "jdbc:sap://host:port/?name=value&…",
    server_url,
    frozenset({"com.sap.db.jdbc.Driver"}),
    _LOGIN
    | _set(
        "autoCommit autoReconnect communicationTimeout connectTimeout currentSchema databaseName "
        "defaultFetchSize encrypt hostNameInCertificate instanceNumber isolation keepAlive keyStorePassword "
        "keyStoreType locale readOnly reconnect statementCacheSize timeout trustStorePassword trustStoreType "
        "validateCertificate"
    ),
    _set("keyStore trustStore"),
)
_TERADATA = JdbcDatabase(
    "jdbc:teradata://host/NAME=value,…",
    teradata_url,
    frozenset({"com.teradata.jdbc.TeraDriver"}),
    _LOGIN
    | _set(
        "ACCOUNT CHARSET CLIENT_CHARSET CONNECT_FAILURE_TTL CONNECT_FUNCTION COP DATABASE DBS_PORT ENCRYPTDATA "
        "ERROR_TABLE_DATABASE FLATTEN LOB_SUPPORT LOGIN_TIMEOUT MAX_MESSAGE_BODY PARTITION RECONNECT_COUNT "
        "RECONNECT_INTERVAL SESSIONS SIP_SUPPORT SSLMODE STRICT_NAMES TMODE TNANO TRUSTED_SQL TSNANO TYPE"
    ),
)
DATABASES: Mapping[str, JdbcDatabase] = {
    "postgresql": _POSTGRESQL,
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "sqlserver": _SQLSERVER_DATABASE,
    "microsoft": _SQLSERVER_DATABASE,
    "jtds": _JTDS,
    "oracle": _ORACLE,
    "sqlite": _SQLITE,
    "derby": _DERBY,
    "duckdb": _DUCKDB,
    "db2": _DB2,
    "redshift": _REDSHIFT,
    "snowflake": _SNOWFLAKE,
    "clickhouse": _CLICKHOUSE,
    "ch": _CLICKHOUSE,
    "trino": _TRINO,
    "vertica": _VERTICA,
    "sap": _SAP,
    "teradata": _TERADATA,
}
"""Databases by what follows ``jdbc:`` in their URLs."""
