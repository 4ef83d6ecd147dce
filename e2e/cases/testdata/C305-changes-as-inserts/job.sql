SET 'execution.checkpointing.interval' = '1s';
CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '${WAREHOUSE}');
CREATE TEMPORARY TABLE src (kind STRING METADATA FROM 'row_kind' VIRTUAL, id INT, tab STRING METADATA FROM 'table_name' VIRTUAL, v STRING, PRIMARY KEY (id) NOT ENFORCED)
WITH ('connector' = 'mysql-cdc', 'hostname' = '127.0.0.1', 'port' = '${MYSQL_PORT}', 'username' = 'root', 'password' = '', 'database-name' = 'app', 'table-name' = 't',
      'scan.read-changelog-as-append-only.enabled' = 'true', 'debezium.snapshot.mode' = 'initial', 'debezium.decimal.handling.mode' = 'precise',
      'jdbc.properties.zeroDateTimeBehavior' = 'convertToNull');
USE CATALOG lake;
CREATE DATABASE IF NOT EXISTS app;
CREATE TABLE IF NOT EXISTS app.log (id INT, v STRING, kind STRING, tab STRING);
INSERT INTO app.log SELECT id, v, kind, tab FROM default_catalog.default_database.src;
